"""What is proven: run it with `pytest --pyargs leverframe.model_tests`."""
