"""The strict base of every lifecycle: a python-statemachine class that is checked and compiled when it is created."""

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar, cast

from statemachine import Event as ParsedEvent
from statemachine import StateMachine
from statemachine.exceptions import InvalidDefinition
from statemachine.factory import StateMachineMetaclass

from .compile import compile_machine
from .errors import BadInput, DefinitionError
from .fields import read_value
from .links import State
from .rules import Awaited, Invariant, Monitor, Owe, Refusal, Settled
from .snapshot import Ref, Request, ref_of
from .table import EventSpec, Table
from .variant import vary

__all__ = ["Event", "Machine"]

P = TypeVar("P")


class Event(Generic[P]):
    """An event of a machine; calling it with its payload's fields and links makes a request.

    In a class body it annotates: `approve: Event[Click] = published.to(resolved, cond=...)`.
    """

    def __init__(self, machine: "type[Machine]", spec: EventSpec, parsed: Any = None) -> None:
        self.machine = machine
        self.spec = spec
        self.name = spec.name
        self._parsed = parsed

    def __get__(self, instance: Any, owner: type) -> Any:
        """On an instance of the machine, which only the other engine makes, this is that engine's own event."""
        if instance is None:
            return self
        if self._parsed is None:
            raise AttributeError(self.name)
        return self._parsed.__get__(instance, owner)

    def __call__(self, **given: Any) -> Request:
        """Make a request to move.

        Args:
            **given: the payload's fields, and the links that this event gives (refs or snapshots).

        Raises:
            BadInput: a field is missing, unknown, or of another type.
        """
        table = self.machine.table
        takes = f"{self}: a link takes"
        links = {name: ref_of(given.pop(name), takes) for name in tuple(given) if name in table.links}
        return Request(self, self.payload(given), links)

    def payload(self, given: Mapping[str, Any]) -> Any:
        """Read a payload from its fields, each checked against its type.

        Raises:
            BadInput: a field is missing, unknown, or of another type.
        """
        if self.spec.payload is None:
            if given:
                raise BadInput(f"{self} has no payload; got {', '.join(sorted(map(str, given)))}")
            return None
        values = {}
        for field in self.spec.fields:
            if field.name in given:
                values[field.name] = read_value(field, given[field.name], str(self))
            elif field.required:
                raise BadInput(f"{self} lacks its field {field.name}")
        strange = sorted(set(given) - {field.name for field in self.spec.fields})
        if strange:
            fields = ", ".join(field.name for field in self.spec.fields) or "none"
            raise BadInput(f"{self} has no field {strange[0]}; its fields are {fields}")
        return self.spec.payload(**values)

    def __str__(self) -> str:
        return f"{self.machine.table.name}.{self.name}"

    def __repr__(self) -> str:
        return f"<event {self}>"


class _Checked(StateMachineMetaclass):
    """Compiles a machine once its transitions have their events, which python-statemachine gives them in `__init__`."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:  # noqa: N805
        if any(hasattr(base, "table") for base in bases):
            raise DefinitionError(
                f"{name}: a machine is not extended by inheritance: vary it with {bases[0].__name__}.variant(...)"
            )
        try:
            super().__init__(name, cast(Any, bases), namespace)
        except InvalidDefinition as wrong:
            raise DefinitionError(f"{name}: {wrong}") from None
        if not cls.states:
            return
        machine = cast("type[Machine]", cls)
        machine.table = compile_machine(machine, namespace)
        if not machine.table.variant:
            machine.family = machine
            for link in machine.table.links.values() if machine.table.until else ():
                link.to.debtors = (*link.to.debtors, machine)
        for spec in machine.table.events.values():
            parsed = vars(cls).get(spec.name)
            setattr(cls, spec.name, Event(machine, spec, parsed if isinstance(parsed, ParsedEvent) else None))


class Machine(StateMachine, metaclass=_Checked):
    """A declared lifecycle. Its transitions are the only way anything about an instance changes.

    A subclass declares, in this order: links and tallies; states, the first named `absent`; events, each
    `name: Event[Payload] = source.to(target, cond=guards, on=update, after=effects)`; and the lists below. What is
    wrong with it is said when the class is created. Source: design, section 4.
    """

    validate_final_reachability = False
    """Some lifecycles serve for ever; whether an end can be reached is for exploration to say."""

    table: ClassVar[Table]
    family: "ClassVar[type[Machine]]"
    """The machine itself; of a variant, the machine that it varies."""
    debtors: "ClassVar[tuple[type[Machine], ...]]" = ()
    """Machines whose debts a change of this one may make overdue."""
    durable: ClassVar[bool] = True
    """False for what a process holds (a lease): `owner_lost` fires on each instance when that process is gone."""
    rules: ClassVar[list[Refusal | Settled]] = []
    owes: ClassVar[dict[State, Owe]] = {}
    effects: ClassVar[list[Awaited]] = []
    invariants: ClassVar[list[Invariant]] = []
    step_invariants: ClassVar[list[Invariant]] = []
    monitors: ClassVar[list[Monitor]] = []
    varies: ClassVar[tuple[str, str, str]] = ("", "", "")
    """Of a variant: the machine that it varies, its own name, and why."""

    @classmethod
    def ref(cls, id: str) -> Ref:
        """The address of the instance with this id."""
        return Ref(cls.table.name, id)

    variant = classmethod(vary)
