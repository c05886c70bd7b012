"""The rules that no machine declares, because they hold for each: the kernel's own, and those of a trace."""

from collections.abc import Mapping

__all__ = ["OWN_RULES"]

OWN_RULES: Mapping[str, str] = {
    "adopt-once": "what the kernel knows already is not adopted again",
    "all-or-none": "of several steps in one transaction none happens when one is refused",
    "event-id-bound": "an event id belongs to one event of one instance, with one payload",
    "link-present": "what must read a linked instance says no when there is none",
    "payload-known": "the kernel decides upon no value that is not known",
    "refused-without-cause": "a trace says that an event was refused, and the machine would have taken it",
    "state-contradicted": "a trace says of a state or of data what cannot be",
    "unknown-state": "an instance in a state that its machine does not have takes no event",
    "within-range": "no step leads out of the range of a bounded number",
}
"""Rule name to its sentence."""
