"""A machine as a Mermaid state diagram, which GitHub draws in any Markdown file.

The drawings of python-statemachine keep only the first of several transitions between the same two states
(design, section 4), so this one is made from the table.
"""

import re

from ..machines.kernel.table import Table, Transition

__all__ = ["mermaid"]

_OWN_WORDS = frozenset(
    "accdescr acctitle class classdef click constructor default direction end href note root root_end root_start"
    " scale state statediagram style".split()
)
"""What Mermaid takes for a word, a node or a property of its own when a state is called so."""


def mermaid(table: Table) -> str:
    """Draw a machine: every transition under its event, with the rules that guard it below.

    Transitions between the same two states share an arrow; those that stay in a state stand in its box, since Mermaid
    keeps no room for loops. The filled dot is `absent`, and every final state leads to the ringed one. What changes
    nothing, a refusal or a settled event, is not drawn: the machine's table shows it.

    Returns:
        lines without a fence, the same for the same machine.
    """
    ids = {state: "[*]" if state == table.absent.id else _id(state) for state in table.states}
    labels: dict[tuple[str, str], list[str]] = {}
    for move in table.transitions:
        labels.setdefault((move.source.id, move.target.id), []).append(_label(move))
    lines = ["stateDiagram-v2", f"accTitle: {table.name}"]
    for state, id in ids.items():
        if (state, state) in labels or id not in (state, "[*]"):
            lines.append(f'state "{_text(state)}" as {id}')
        if (state, state) in labels:
            lines.append(f"{id}: ↺ {'<br/>↺ '.join(labels[state, state])}")
    for source, target in sorted(labels, key=lambda ends: [list(ids).index(end) for end in ends]):
        if source != target:
            lines.append(f"{ids[source]} --> {ids[target]}: {'<br/>'.join(labels[source, target])}")
    lines += [f"{ids[state.id]} --> [*]" for state in table.final]
    return "\n    ".join(lines) + "\n"


def _label(move: Transition) -> str:
    rules = dict.fromkeys(guard.rule.name for guard in move.guards if guard.rule)
    return "<br/>".join([f"<b>{_text(move.event)}</b>", *rules])


def _id(state: str) -> str:
    """The state's own name where Mermaid reads it as a name; else one that no other state can have."""
    own = re.fullmatch("[a-z][a-z0-9_]*", state) and state not in _OWN_WORDS
    return state if own else f"0_{state}"


def _text(name: str) -> str:
    """A name to be read: between underscores it would become emphasis."""
    return re.sub("^_+|_+$", lambda found: "#95;" * len(found[0]), name)
