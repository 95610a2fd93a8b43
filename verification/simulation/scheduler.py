"""Simulated processes: each has an event loop on virtual time. One runs at a time, and they switch at preemption
points.

A process is a greenlet, so that it can be paused in synchronous code, and abandoned there when it dies. The seed alone
determines which process runs and at which points it is paused.
"""

from __future__ import annotations

import asyncio
import math
import random
import threading
from asyncio import events, tasks
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar, cast

from greenlet import getcurrent, greenlet

T = TypeVar("T")

PREEMPTION = 0.04
"""Probability that a process is paused at a preemption point."""

MAX_SWITCHES = 200_000
"""Maximum number of switches before a history counts as stuck."""


_MAX_CANCELS = 100


class ProcessKilledError(BaseException):
    """Unwinds a killed process, which must have no further effects."""


class StuckError(RuntimeError):
    """Raised if the simulated machine does not become idle."""


class Operation(Generic[T]):
    """An operation of a process. It returns, fails, or is lost when the process dies."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._task: asyncio.Task[T] | None = None

    def begin(self, work: Coroutine[Any, Any, T]) -> None:
        """Start the operation in the process."""
        self._task = self._process.loop.create_task(work)

    @property
    def is_over(self) -> bool:
        """Return whether the operation returned, failed or was lost."""
        return self.is_lost or (self._task is not None and self._task.done())

    @property
    def is_lost(self) -> bool:
        """Return whether the process died before the operation returned."""
        return self._process.is_dead and not (self._task is not None and self._task.done())

    def error(self) -> BaseException | None:
        """Return its exception."""
        assert self._task is not None
        return asyncio.CancelledError() if self._task.cancelled() else self._task.exception()

    def result(self) -> T:
        """Return its result, or raise its exception."""
        assert self._task is not None
        return self._task.result()


class _Loop(asyncio.BaseEventLoop):
    """An event loop with virtual time that yields to other processes when idle."""

    def __init__(self, process: Process) -> None:
        super().__init__()
        self._process = process
        self._selector = self
        self._thread_id = threading.get_ident()

    def time(self) -> float:
        return self._process.monotonic()

    def select(self, timeout: float | None) -> list[Any]:
        if self._process.is_unwound:
            return []
        if timeout is None or timeout > 0:
            self._process.wait(math.inf if timeout is None else timeout)
        else:
            self._process.pass_preemption_point("loop")
        return []

    def _process_events(self, event_list: list[Any]) -> None:
        """Do nothing; the selector has no events."""

    def _write_to_self(self) -> None:
        """Do nothing; no thread waits in the selector."""

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - the waiting task receives it
            future.set_exception(error)
        return future

    def run_once(self) -> None:
        """Run the ready callbacks."""
        self._run_once()  # type: ignore[attr-defined]

    def has_work(self, now: float) -> bool:
        """Return whether a callback is ready or due."""
        scheduled = self._scheduled  # type: ignore[attr-defined]
        return bool(self._ready) or bool(scheduled and scheduled[0].when() <= now)  # type: ignore[attr-defined]

    def next_at(self) -> float:
        """Return the time of the next timer."""
        scheduled = self._scheduled  # type: ignore[attr-defined]
        return float(scheduled[0].when()) if scheduled else math.inf

    def end(self) -> None:
        """Cancel all tasks."""
        self.set_exception_handler(lambda _loop, _context: None)
        for _ in range(_MAX_CANCELS):
            going_on = asyncio.all_tasks(self)
            if not going_on:
                break
            for task in going_on:
                task.cancel()
            self.run_once()
        self._thread_id = None  # type: ignore[assignment]
        self.close()


class Process:
    """One simulated process."""

    def __init__(self, scheduler: Scheduler, name: str, clock: float) -> None:
        self.name = name
        self.is_dead = False
        self.is_unwound = False
        self.stalled_until = 0.0
        self.paused_at: str | None = None
        self.pause_countdown: int | None = None
        """Number of preemption points until the process is paused for the driver; None for no limit."""

        self.on_death: list[Callable[[], None]] = []
        self._scheduler = scheduler
        self._clock = clock
        self._is_idle = False
        self._wake_at = 0.0
        self.loop = _Loop(self)
        self._greenlet = greenlet(self._run)

    def monotonic(self) -> float:
        """Return the process's monotonic clock, in seconds."""
        return self._scheduler.now + self._clock

    def start(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Operation[T]:
        """Start an operation."""
        operation: Operation[T] = Operation(self)
        if not self.is_dead:
            operation.begin(work())
        return operation

    def is_runnable(self, now: float) -> bool:
        """Return whether the process can run now."""
        if self.is_dead or self.stalled_until > now:
            return False
        return not self._is_idle or self._wake_at <= now or self.loop.has_work(self.monotonic())

    def next_at(self, now: float) -> float:
        """Return the time at which the process can run next."""
        if self.is_dead:
            return math.inf
        at = self.loop.next_at() - self._clock if self._is_idle and not self.loop.has_work(self.monotonic()) else now
        return max(at, self.stalled_until)

    def resume(self) -> None:
        """Run the process until it waits or is paused."""
        self._is_idle = False
        events._set_running_loop(self.loop)
        task = self._suspended_task
        if task is not None:
            tasks._enter_task(self.loop, task)
        self._greenlet.switch()
        events._set_running_loop(None)

    _suspended_task: asyncio.Task[Any] | None = None

    def wait(self, seconds: float) -> None:
        """Wait for a duration, or for an earlier event."""
        self._is_idle, self._wake_at = True, self._scheduler.now + seconds
        self._yield("idle")

    def pass_preemption_point(self, place: str) -> None:
        """Pause the process here if its countdown ends, or by chance; raises ProcessKilledError if it is dead."""
        if self.is_dead:
            raise ProcessKilledError
        scheduler = self._scheduler
        if getcurrent() is not self._greenlet:
            return
        if self.pause_countdown is not None and place != "loop":
            self.pause_countdown -= 1
            if self.pause_countdown <= 0:
                self.pause_countdown = None
                scheduler.expired_process = self
                self._yield(place)
                return
        if scheduler.random() < PREEMPTION:
            self._yield(place)

    def hold(self, place: str) -> None:
        """Let other processes run first."""
        self._yield(place)

    def _yield(self, place: str) -> None:
        if self.is_dead:
            raise ProcessKilledError
        self.paused_at = place
        self._suspended_task = asyncio.current_task(self.loop)
        if self._suspended_task is not None:
            tasks._leave_task(self.loop, self._suspended_task)
        cast(greenlet, self._greenlet.parent).switch()
        self.paused_at = None
        if self.is_dead:
            raise ProcessKilledError

    def kill(self) -> None:
        """Kill the process without any cleanup."""
        if not self.is_dead:
            self.is_dead = True
            for end in self.on_death:
                end()

    def unwind(self) -> None:
        """Unwind a dead process at the end of a history."""
        self.is_dead = self.is_unwound = True
        events._set_running_loop(self.loop)
        if self._greenlet and not self._greenlet.dead:
            if self._suspended_task is not None:
                tasks._enter_task(self.loop, self._suspended_task)
            self._greenlet.throw(ProcessKilledError())
        self.loop.end()
        events._set_running_loop(None)

    def _run(self) -> None:
        try:
            while not self.is_dead:
                self.loop.run_once()
        except ProcessKilledError:
            pass


class Scheduler:
    """All processes of one machine, its messages in transit and its time."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"scheduler {seed}")
        self.random = self.rng.random
        self.now = 0.0
        self.processes: list[Process] = []
        self.current: Process | None = None
        self.expired_process: Process | None = None
        self.switches = 0
        self._messages: list[tuple[float, int, Callable[[], None]]] = []
        self._sent = 0

    def spawn(self, name: str) -> Process:
        """Create an idle process."""
        process = Process(self, name, 1000.0 * self.rng.randrange(1, 100))
        self.processes.append(process)
        return process

    def call_later(self, seconds: float, happen: Callable[[], None]) -> None:
        """Call a function after a delay in seconds."""
        self._sent += 1
        self._messages.append((self.now + seconds, self._sent, happen))

    def run(self, until: Callable[[], bool], seconds: float = math.inf) -> bool:
        """Run until a condition holds; return False if the machine becomes idle or the time is up first.

        Returns True early if a process reached its pause countdown.
        """
        end_at = self.now + seconds
        for _ in range(MAX_SWITCHES):
            if until() or self.expired_process is not None:
                return True
            due = [message for message in self._messages if message[0] <= self.now]
            ready = [process for process in self.processes if process.is_runnable(self.now)]
            if due and (not ready or self.rng.random() < 0.5):
                message = self.rng.choice(due)
                self._messages.remove(message)
                message[2]()
            elif ready:
                self._switch_to(self.rng.choice(ready))
            else:
                coming = [message[0] for message in self._messages]
                coming += [process.next_at(self.now) for process in self.processes]
                at = min(coming, default=math.inf)
                if at > end_at or math.isinf(at):
                    self.now = max(self.now, min(end_at, at)) if not math.isinf(end_at) else self.now
                    return False
                self.now = max(self.now, at)
        raise StuckError(f"{MAX_SWITCHES} switches, and no end")

    def preemption_point(self, place: str) -> None:
        """Pass a preemption point of the current process; does nothing outside a process."""
        if self.current is not None:
            self.current.pass_preemption_point(place)

    def end(self) -> None:
        """Kill and unwind every process."""
        for process in self.processes:
            process.kill()
        for process in self.processes:
            self.current = process
            process.unwind()
            self.current = None

    def _switch_to(self, process: Process) -> None:
        self.switches += 1
        self.current = process
        try:
            process.resume()
        finally:
            self.current = None
