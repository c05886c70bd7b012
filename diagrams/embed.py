"""Marked blocks of a Markdown document, kept as the machines are.

What stands between `<!-- leverframe: approval -->` and `<!-- /leverframe -->`, each on a line of its own, is replaced.
Markers inside a code fence are examples and stay as they are.
"""

import re
from collections.abc import Callable

from ..machines.kernel import BadInput

__all__ = ["drifted", "embed"]

Draw = Callable[[str], str]
"""From what a marker names to Markdown; it raises BadInput for what it does not know."""

_PART = re.compile(
    r"""
      ^[ ]{0,3} (?P<fence>`{3,}|~{3,}) [^`\n]*\n .*? (?: ^[ ]{0,3}(?P=fence)[`~]*\s*$ | \Z )
    | (?P<begin> ^[ ]{0,3}<!--\s*leverframe:\s*(?P<what>[^\n]*?)\s*-->[^\S\n]*\n )
      (?: (?! ^[ ]{0,3}<!--\s*leverframe: ) . )*?
      (?P<end> ^[ ]{0,3}<!--\s*/leverframe\s*--> )
    | ^[ ]{0,3}<!--\s*/?leverframe\b
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
"""A code fence, a whole block, or a marker that is alone."""


def embed(text: str, draw: Draw) -> str:
    """Bring every marked block of a document up to date.

    Raises:
        BadInput: a block names nothing known, or a marker is alone; the text begins with the line.
    """
    return _PART.sub(lambda part: _fresh(part, draw), text)


def drifted(text: str, draw: Draw) -> list[tuple[int, str]]:
    """The blocks that `embed` would change: the line and what it shows.

    Raises:
        BadInput: as `embed`.
    """
    return [(_line(part), part["what"]) for part in _PART.finditer(text) if _fresh(part, draw) != part[0]]


def _fresh(part: re.Match[str], draw: Draw) -> str:
    """What should stand in the place of a part."""
    if part["fence"]:
        return part[0]
    if not part["begin"]:
        pair = "<!-- leverframe: NAME --> and, after it, <!-- /leverframe -->"
        raise BadInput(f"line {_line(part)}: this marker is alone; a block is {pair}, each on its own line")
    try:
        shown = f"\n{draw(part['what'])}\n"
    except BadInput as wrong:
        raise BadInput(f"line {_line(part)}: {wrong}") from None
    if part["begin"].endswith("\r\n"):
        shown = shown.replace("\n", "\r\n")
    return part["begin"] + shown + part["end"]


def _line(part: re.Match[str]) -> int:
    return part.string.count("\n", 0, part.start()) + 1
