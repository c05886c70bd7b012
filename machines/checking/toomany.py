"""What is not decided because it would take too long."""

__all__ = ["TooMany"]


class TooMany(Exception):  # noqa: N818  # no error: a verdict
    """More cases than the budget allows: undecided, never a guess."""
