"""What stands for a value that a trace does not show."""

from typing import Annotated, Any

import attrs
import pytest

from ..machines.checking.dark import Known, Probe, Touched, dark_fields, forget, is_dark, put
from ..machines.checking.toomany import TooMany
from ..machines.kernel import UNKNOWN, Epoch, Id, Range, carried
from ..machines.kernel.fields import Field, fields_of


@attrs.frozen
class Data:
    id: Id
    ids: frozenset[Id]
    count: Epoch
    size: Annotated[int, Range(0, 900)] = 0
    text: str = carried()


ID, IDS, COUNT, SIZE = fields_of(Data)[:4]
SHOWN = (Data("a", frozenset({"b"}), 3), None, UNKNOWN, "c", Data(UNKNOWN, frozenset(), 10))


def test_an_id_may_be_any_that_is_known_or_one_that_is_not() -> None:
    values = Known(SHOWN).values(ID, 0)
    assert list(values[:-1]) == ["a", "b", "c"]
    assert is_dark(values[-1])
    assert values[-1] not in ("a", "b", "c", "\0" + "0")
    assert values[-1] == values[-1]
    assert len({*Known(SHOWN).values(ID, 2)}) == 6


def test_a_counter_may_be_any_that_is_known_or_one_in_each_gap() -> None:
    values = Known(SHOWN).values(COUNT, 0)
    assert sorted(value for value in values if not is_dark(value)) == [0, 3, 10]
    others = [value for value in values if is_dark(value)]
    for least, most in ((0, 3), (3, 10), (10, 99)):
        assert any(least < value < most for value in others)
    assert min(values) == 0


def test_a_set_may_have_any_of_the_known_ids_and_one_more() -> None:
    values = Known(("a", "b")).values(IDS, 0)
    assert {value for value in values if not is_dark(value)} == {
        frozenset(),
        frozenset("a"),
        frozenset("b"),
        frozenset("ab"),
    }
    assert len(values) == 8
    with pytest.raises(TooMany):
        Known("abcdefgh").values(IDS, 0)


def test_what_is_computed_from_a_counter_that_is_not_shown_is_not_shown_either() -> None:
    other = next(value for value in Known(()).values(COUNT, 0) if is_dark(value))
    assert all(is_dark(made) for made in (other + 1, 1 + other, other - 1))
    assert not is_dark(Known(()).values(COUNT, 0)[0] + 1)


def test_only_what_stood_for_a_value_is_forgotten() -> None:
    known = Known(SHOWN)
    made = Data(known.values(ID, 0)[-1], frozenset({"a", known.values(ID, 0)[-1]}), 3, 7, text="words")
    assert forget(made) == Data(UNKNOWN, UNKNOWN, 3, 7)  # type: ignore[arg-type]
    assert forget(made).text == "words"
    assert [field.name for field in dark_fields(forget(made))] == ["id", "ids"]
    assert forget(None) is None
    assert forget(UNKNOWN) is UNKNOWN


@pytest.mark.parametrize(
    "look",
    [
        lambda probe: probe == "a",
        lambda probe: "a" == probe,
        lambda probe: probe != "a",
        lambda probe: None in (probe,),
        lambda probe: probe in {"a"},
        lambda probe: "a" in probe,
        lambda probe: probe < 1,
        lambda probe: 1 > probe,
        lambda probe: probe + 1,
        lambda probe: 1 + probe,
        lambda probe: frozenset("a") | probe,
        lambda probe: not probe,
        lambda probe: len(probe),
        lambda probe: [*probe],
        lambda probe: hash(probe),
        lambda probe: (probe, 1) == ("a", 1),
        lambda probe: {probe: 1},
    ],
)
@pytest.mark.parametrize("field", [ID, IDS, COUNT])
def test_whoever_looks_at_a_probe_is_noticed(look: Any, field: Field) -> None:
    probe = Probe(field)
    with pytest.raises(Touched) as touched:
        look(probe)
    assert touched.value.probe is probe


def test_a_probe_can_be_handed_on_and_held_against_its_range() -> None:
    probe: Any = Probe(SIZE)
    made: Any = attrs.evolve(Data("a", frozenset(), 0), size=probe)
    assert made.size is probe
    assert 0 <= made.size <= 900
    assert put(made, probe, 7) == Data("a", frozenset(), 0, 7)
    assert put(probe, probe, 7) == 7
    assert put("a", probe, 7) == "a"
    with pytest.raises(Touched):
        assert made.size <= 899
    with pytest.raises(Touched):
        assert 1 <= made.size
