"""What goes wrong outside a decision: a wrong definition, and bad input. Refusals are no errors; they are decisions."""

__all__ = ["BadInput", "DefinitionError"]


class DefinitionError(Exception):
    """A machine is declared wrongly: the text names the offender and the fix. Raised when the class is created."""


class BadInput(Exception):
    """Input from outside has no meaning here: an unknown machine, event or field, or a value of another type.

    The text is one line for a person: what was met, what was known, what to do.
    """
