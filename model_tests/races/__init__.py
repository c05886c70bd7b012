"""The races of the real systems, one row each, as programs on a real kernel; `test_*_races` runs and counts them."""
