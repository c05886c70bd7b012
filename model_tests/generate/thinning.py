"""The same trace with less in it: what a format need not carry is taken away here and there."""

import copy
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

__all__ = ["OPTIONAL", "thinned"]

OPTIONAL = ("payload", "links", "by", "event_id", "actor", "ts", "state", "data")
"""The fields of a native line that may be left out without saying something else; `outcome` and `phase` may not."""


def thinned(
    random: Random, lines: Sequence[Mapping[str, Any]], header: Mapping[str, Any], share: float
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """A copy of a trace and of its header with fewer fields.

    Args:
        random: what decides which.
        lines: native lines.
        header: its header; every field but the version may go.
        share: how often a field goes; one that has fields of its own may lose only some of them.
    """
    kinds = OPTIONAL if random.random() < 0.5 else random.sample(OPTIONAL, random.randint(1, len(OPTIONAL)))
    left = [dict(copy.deepcopy(dict(line))) for line in lines]
    for line in left:
        for kind in kinds:
            if kind in line and random.random() < share:
                _thin(random, line, kind)
    return left, {name: value for name, value in header.items() if name == "leverframe" or random.random() < 0.7}


def _thin(random: Random, line: dict[str, Any], kind: str) -> None:
    fields = line[kind]
    if isinstance(fields, dict) and random.random() < 0.6:
        line[kind] = {name: value for name, value in fields.items() if random.random() < 0.5}
    else:
        del line[kind]
