"""`python -m cli`, typed in a checkout of any name, is `leverframe` run from the checkout's own code."""

import sys
from importlib import import_module
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / ".ci" / "here"))
    import_module("leverframe.cli.main").main()
