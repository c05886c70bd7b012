"""Raw JSON of a trace, read within the bounds of the machine."""

import json
from typing import Any

from ..kernel.errors import BadInput

__all__ = ["parsed"]


def parsed(text: bytes, what: str) -> Any:
    """What raw JSON says.

    Raises:
        BadInput: it is nested or a number is long beyond all measure.
    """
    try:
        return json.loads(text)
    except (RecursionError, ValueError) as wrong:
        raise BadInput(f"{what} cannot be read: {wrong}") from None
