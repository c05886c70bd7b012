"""On `sys.path`, this file makes the checkout around it importable as `leverframe`, in worker processes too."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

spec = spec_from_file_location("leverframe", Path(__file__).resolve().parents[2] / "__init__.py")
assert spec and spec.loader
sys.modules["leverframe"] = module_from_spec(spec)
spec.loader.exec_module(sys.modules["leverframe"])
