"""A schedule of real threads that can be repeated: one task holds the baton, and hands it back at every point.

A point is a place in an adapter where another task may go first: before it begins, reads, writes, commits. At each one
a choice function says who goes on, so a test can draw the choices, enumerate them, or write them down. What ran is a
list that a person can read: `stop:begin -> click:begin -> click:busy -> stop:read -> ...`.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

__all__ = ["Choose", "Deadlock", "Queue", "Schedule", "Watch", "every"]

Choose = Callable[[Sequence[str], bool], int]
"""(tasks that can go on, whether the first of them went last) to the index of who goes on; 0 switches least."""

Hook = Callable[[str, bool], None]
Watch = Callable[[Hook], AbstractContextManager[None]]
"""Calls the hook with (label, blocked) at each point that the thread passes, such as `points.under_schedule`."""

_PATIENCE = 20.0
"""Seconds that one step may take. Longer means that it waits for something that no task can give it."""


class Deadlock(Exception):
    """Every task waits for another one to make a step."""


class _Abandoned(BaseException):
    """Ends the tasks of a run that failed, wherever they are."""


class Schedule:
    """Runs tasks in threads, one at a time.

    Args:
        choose: who goes on.
        watch: tells the schedule of the points that a thread passes.
    """

    def __init__(self, choose: Choose, watch: Watch) -> None:
        self.choose = choose
        self.watch = watch
        self.steps: list[str] = []
        """`task:label` of each step, in the order in which they were made."""
        self._running: dict[str, _Task] = {}

    def __str__(self) -> str:
        return " -> ".join(self.steps)

    def at(self, label: str) -> None:
        """A point of the calling task itself, between two calls of what it uses."""
        self._running[threading.current_thread().name].point(label, False)

    def run(self, tasks: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
        """Run all tasks to their ends.

        Args:
            tasks: what each does, by name; each runs up to its first point before the first choice.

        Returns:
            what each returned.

        Raises:
            Deadlock: all that are left are blocked.
        """
        self._running = running = {name: _Task(name, work, self.watch) for name, work in tasks.items()}
        last = ""
        try:
            for task in running.values():
                task.go()
            while live := [task for task in running.values() if not task.done]:
                ready = sorted((task for task in live if not task.blocked), key=lambda task: task.name != last)
                if not ready:
                    raise Deadlock(f"{', '.join(task.name for task in live)} wait for one another after {self}")
                task = ready[self.choose([task.name for task in ready], ready[0].name == last)]
                last = task.name
                self.steps.append(f"{last}:{task.label}")
                task.go()
                if task.blocked:
                    self.steps.append(f"{last}:{task.label}")
                    task.label = "retry"
                else:
                    for other in live:
                        other.blocked = False
        finally:
            for task in running.values():
                task.abandon()
        return {name: task.result for name, task in running.items()}


class _Task:
    """A thread that stands still at its points."""

    def __init__(self, name: str, work: Callable[[], Any], watch: Watch) -> None:
        self.name = name
        self.label = ""
        self.blocked = False
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.abandoned = False
        self._mine, self._back = threading.Lock(), threading.Lock()
        self._mine.acquire()
        self._back.acquire()
        self._thread = threading.Thread(target=self._body, args=(work, watch), name=name, daemon=True)
        self._thread.start()

    def go(self) -> None:
        """Make one step: up to the next point, or the end."""
        self._mine.release()
        if not self._back.acquire(timeout=_PATIENCE):
            raise RuntimeError(f"{self.name} waits at {self.label or 'its start'} for what no task can give it")
        if self.error is not None:
            raise self.error

    def abandon(self) -> None:
        """End the thread if it has not ended."""
        if not self.done:
            self.abandoned = True
            self._mine.release()
        self._thread.join(_PATIENCE)

    def _body(self, work: Callable[[], Any], watch: Watch) -> None:
        try:
            with watch(self.point):
                self._wait()
                self.result = work()
        except _Abandoned:
            pass
        except BaseException as error:
            self.error = error
        finally:
            self.done = True
            self._back.release()

    def point(self, label: str, blocked: bool) -> None:
        self.label = label
        self.blocked = blocked
        self._back.release()
        self._wait()

    def _wait(self) -> None:
        self._mine.acquire()
        if self.abandoned:
            raise _Abandoned


class Queue:
    """Goes on with the first in line that can; who pauses goes to the end of the line. A choice function.

    Args:
        line: who goes before whom.
    """

    def __init__(self, line: Iterable[str]) -> None:
        self.line = list(line)
        self.pauses: dict[str, int] = {}

    def pause(self, task: str, steps: int) -> None:
        """Let a task pause when it has made so many more steps."""
        self.pauses[task] = steps

    def __call__(self, ready: Sequence[str], again: bool) -> int:
        while True:
            first = next(task for task in self.line if task in ready)
            left = self.pauses.pop(first, -1)
            if left:
                if left > 0:
                    self.pauses[first] = left - 1
                return ready.index(first)
            self.line.remove(first)
            self.line.append(first)


def every(preemptions: int) -> Iterator[Choose]:
    """Every schedule with at most so many preemptions, for tasks that always do the same under the same schedule.

    A preemption takes the baton from a task that could have gone on; any number of other switches is tried.

    Yields:
        a choice function for one run; the next one is worked out when that run is over.
    """
    path: list[int] = []
    while True:
        branch = _Branch(path, preemptions)
        yield branch
        path = [taken for taken, _ in branch.met]
        while path and path[-1] + 1 == branch.met[len(path) - 1][1]:
            path.pop()
        if not path:
            return
        path[-1] += 1


class _Branch:
    """Follows a path of choices, then goes on without a switch, and remembers how many ways there were."""

    def __init__(self, path: Sequence[int], preemptions: int) -> None:
        self.path = tuple(path)
        self.left = preemptions
        self.met: list[tuple[int, int]] = []
        """The choice taken, and how many there were."""

    def __call__(self, ready: Sequence[str], again: bool) -> int:
        taken = self.path[len(self.met)] if len(self.met) < len(self.path) else 0
        self.met.append((taken, len(ready) if self.left or not again else 1))
        if again and taken:
            self.left -= 1
        return taken
