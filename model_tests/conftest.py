"""Loads the Hypothesis profile, and says so where pytest cannot import the checkout under the name of its folder."""

import pytest

from .profiles import load
from .where import PACKAGE

load()


def pytest_configure() -> None:
    if not PACKAGE.name.isidentifier():
        raise pytest.UsageError(
            f"pytest names modules after their folders, and {PACKAGE.name!r} is no name for a package: rename it to "
            "leverframe, or install it (not editable) and run `pytest --pyargs leverframe.model_tests`"
        )
