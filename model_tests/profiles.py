"""How hard Hypothesis tries: LEVERFRAME_PROFILE is dev (when unset), ci or deep."""

import os

from hypothesis import settings

settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.register_profile("deep", deadline=None, max_examples=5_000, stateful_step_count=100, print_blob=True)


def load() -> None:
    settings.load_profile(os.environ.get("LEVERFRAME_PROFILE", "dev"))
