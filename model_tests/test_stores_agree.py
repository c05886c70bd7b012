"""The durable store answers as the one in memory, call for call, and writes nothing that would not come back."""

import os
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ..adapters.stores.sqlite import SQLiteStore
from ..machines.kernel import BadInput, Kernel, MemoryStore
from ..machines.kernel.shape import shaped
from .lever import Bell, Frame, Lever, LeverData, Way
from .test_stores import PULL, birth, journalled


@attrs.frozen
class Call:
    """One call of a kernel, as data, so that it can be made of two."""

    what: str
    id: str
    request: Any
    event_id: str | None

    def of(self, kernel: Kernel) -> Any:
        if self.what == "start frame":
            return kernel.start(Frame, id=self.id, box=1, event_id=self.event_id)
        if self.what == "start lever":
            given: dict[str, Any] = dict(frame=Frame.ref("a"), number="n", ways=frozenset([1, "1"]))
            return kernel.start(Lever, id=self.id, event_id=self.event_id, **given)
        machine = Frame if self.what == "frame" else Lever
        if self.what == "both":
            fires = [(Lever.ref(self.id), self.request), (Frame.ref(self.id), Frame.close())]
            return kernel.fire_all(fires, by="me", event_ids=[self.event_id, None])
        return kernel.fire(machine.ref(self.id), self.request, by="me", event_id=self.event_id)


IDS = st.sampled_from("ab")
EVENT_IDS = st.sampled_from([None, "e1", "e2", "e3"])
LEVERS = st.sampled_from(
    [
        PULL,
        Lever.pull(force=100, way="straight"),
        Lever.arrived(by_itself=False),
        Lever.lost(),
        Lever.put_back(),
        Lever.stuck(),
        Lever.scrap(),
    ]
)
CALLS = st.one_of(
    st.builds(Call, st.just("start frame"), IDS, st.none(), EVENT_IDS),
    st.builds(Call, st.just("start lever"), IDS, st.none(), EVENT_IDS),
    st.builds(Call, st.just("frame"), IDS, st.sampled_from([Frame.tick(), Frame.close()]), EVENT_IDS),
    st.builds(Call, st.just("lever"), IDS, LEVERS, EVENT_IDS),
    st.builds(Call, st.just("both"), IDS, LEVERS, EVENT_IDS),
)


@given(st.lists(CALLS, max_size=30))
def test_the_durable_store_answers_as_the_one_in_memory(
    tmp_path_factory: pytest.TempPathFactory, calls: list[Call]
) -> None:
    """And each call finds a freshly opened file: nothing that matters is kept in the process."""
    path = tmp_path_factory.mktemp("same") / "store.db"
    memory = MemoryStore()
    kernel = Kernel(memory)
    for call in calls:
        durable = SQLiteStore(path, synchronous="NORMAL")
        try:
            other = Kernel(durable)
            assert call.of(other) == call.of(kernel)
            for table in (Frame.table, Lever.table):
                for id in "ab":
                    one, two = (store.read(table, table.machine.ref(id)) for store in (durable, memory))
                    assert one == two and (one and one.tallies) == (two and two.tallies)
            assert journalled(durable) == journalled(memory)
        finally:
            durable.close()
    for file in path.parent.iterdir():
        os.unlink(file)


def test_data_that_could_not_be_read_back_is_not_written(tmp_path: Path) -> None:
    """An update that puts a value of another type into a field would lock its instance away for ever."""
    store = SQLiteStore(tmp_path / "store.db")
    wrong: Any = attrs.evolve(LeverData(1, frozenset()), way=None)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="lever.way is None; expected straight or left"):
        with store.transaction() as work:
            work.append(birth(Lever, Lever.normal, wrong))
    assert store.read(Lever.table, Lever.ref("new")) is None


@pytest.mark.parametrize("payload", [object(), float("nan"), {("a", "b"): 1}, b"bytes"])
def test_an_effect_that_json_cannot_hold_is_refused_in_one_line(tmp_path: Path, payload: Any) -> None:
    store = SQLiteStore(tmp_path / "store.db")
    with pytest.raises(BadInput, match="^effect ring of bell new holds what JSON cannot: .*; use texts"):
        with store.transaction() as work:
            work.append(birth(Bell, Bell.silent, None, payload))
    assert store.read(Bell.table, Bell.ref("new")) is None


def test_an_effect_comes_back_as_json_gives_it(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "store.db")
    with store.transaction() as work:
        work.append(birth(Bell, Bell.silent, None, shaped((Way.LEFT, frozenset(["x"]), Lever.ref("l"), "\ud800 é"))))
    pending = store.take("t", ["ring"])
    assert pending is not None
    assert pending.effect.payload == ["left", ["x"], {"machine": "lever", "id": "l"}, "\ud800 é"]
