"""Drives one simulated deployment: runs operations, injects faults, and compares the state with the model."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from companyos.contract import Outcome
from companyos_gateway.engine import errors
from companyos_gateway.engine.episode import Episode
from companyos_shared.wire.context import Actor
from verification.simulation.deployment import Deployment, Gateway
from verification.simulation.machine import Machine
from verification.simulation.model import (
    Action,
    EpisodeModel,
    Model,
    ObservedEpisode,
    StepAnswer,
    difference,
    fold_changes,
    observed_episode,
)
from verification.simulation.network import Network, NetworkFaults
from verification.simulation.scheduler import Operation, Process, StuckError
from verification.simulation.service import SERVICES

T = TypeVar("T")
CoroutineFunction = Callable[[], Coroutine[Any, Any, Any]]

OPERATION_TIMEOUT_S = 120.0
"""Timeout of an operation, in simulated seconds."""

REST_S = 30.0
"""Time after which every message in transit has arrived, in simulated seconds."""

FOREVER = math.inf

_MAX_TRIES = 10
_UNAVAILABLE = (errors.ServicesUnavailableError, errors.AtCapacityError, errors.EpisodeQueueFullError)
"""Errors that an undamaged deployment may raise for any operation."""


class ViolationError(AssertionError):
    """Raised for a state that the model does not allow."""


@dataclass
class HistoryResult:
    """The events of a history, and its violation if there was one."""

    seed: int
    digest: str = ""
    violation: str = ""
    moves: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    switches: int = 0
    lines: list[str] = field(default_factory=list)


@dataclass
class Change:
    """An operation on an episode, and the model after it. `after` is None if the operation ends the episode."""

    label: str
    what: str
    coroutine_function: CoroutineFunction
    after: EpisodeModel | None


class Driver:
    """One deployment and its model."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.rng = random.Random(f"history {seed}")
        data = folder / "data"
        data.mkdir()
        self.machine = Machine(seed, data)
        self.scheduler = self.machine.scheduler
        self.network = Network(self.scheduler, self.note)
        self.deployment = Deployment(self.machine, self.network)
        self.model = Model()
        self.result = HistoryResult(seed)
        self.is_fault_active = False
        """True while a fault is active; a step may then end as infra_error."""

        self.is_damaged = False
        """True if files are damaged; an episode may then be in quarantine, or be refused as corrupt."""

        self.must_succeed = False
        """True while no operation may be refused, because no fault is active and no file that it uses is damaged."""

        self.has_lost_power = False
        """True after a power loss; an episode may then be missing, or in an earlier state."""

        self.takes_over = False
        """True if another gateway has leased the services, so that the next gateway must take them over."""

        self._gateway: Gateway | None = None
        self._armed: dict[Process, Callable[[Process], None]] = {}
        self.internal_ids: dict[str, str] = {}

    @property
    def gateway(self) -> Gateway:
        """The gateway that players use."""
        assert self._gateway is not None
        return self._gateway

    def note(self, line: str) -> None:
        """Record an event."""
        self.result.lines.append(f"{self.scheduler.now:9.3f}  {line}")

    # Processes.

    def start(self) -> None:
        """Start the services and a gateway."""
        for name in SERVICES:
            self.run_until_done(self.deployment.start_service(name))
        self._gateway = self.deployment.start_gateway()
        self.run_until_done(self.gateway.started)
        self.machine.disk.mark_synced()

    def restart_service(self, name: str) -> None:
        """Start a service process; an existing one continues to run."""
        self.run_until_done(self.deployment.start_service(name))
        self.note(f"{self.deployment.services[name].name} has started")

    def start_dead_services(self) -> None:
        """Restart killed services."""
        for name in list(self.deployment.services):
            if self.deployment.services[name].is_dead:
                self.restart_service(name)

    def restart_gateway(self) -> None:
        """Start a gateway if none is running, and resolve unknown episode states."""
        while True:
            self.start_dead_services()
            if self._is_down():
                self._gateway = self.deployment.start_gateway(take_over=self.takes_over)
                self.run_until_done(self.gateway.started)
                if self._is_down():
                    continue
                self.note(f"{self.gateway.process.name} has started: {ending_of(self.gateway.started)}")
                self._check_start(self.gateway.started.error())
            for label, states in list(self.model.episodes.items()):
                self.resolve_state(label, asks_services=self.has_lost_power or len(states) > 1)
                if self._is_down():
                    break
            else:
                return

    def kill(self, process: Process) -> None:
        """Kill a process at its current point."""
        if not process.is_dead:
            self.note(f"{process.name} is killed at {process.paused_at}")
            process.kill()

    def stall(self, process: Process, seconds: float) -> None:
        """Pause a process for a number of simulated seconds."""
        self.note(f"{process.name} is paused at {process.paused_at} for {seconds} s")
        process.stalled_until = self.scheduler.now + seconds

    def arm(self, process: Process, strike: Callable[[Process], None], most: int = 40) -> None:
        """Schedule an action for one of the next `most` preemption points of a process."""
        process.pause_countdown = self.rng.randint(1, most)
        self._armed[process] = strike

    def disarm(self) -> None:
        """Cancel scheduled actions that did not run."""
        self._armed.clear()
        self.scheduler.expired_process = None
        for process in self.scheduler.processes:
            process.pause_countdown = None

    def strike(self) -> None:
        """Run the scheduled action of the process that reached its preemption point, if there is one."""
        expired_process, self.scheduler.expired_process = self.scheduler.expired_process, None
        if expired_process is not None and (strike := self._armed.pop(expired_process, None)) is not None:
            strike(expired_process)

    def start_operation(self, coroutine_function: Callable[[], Coroutine[Any, Any, T]]) -> Operation[T]:
        """Start a gateway operation."""
        return self.gateway.process.start(coroutine_function)

    def run_until_done(self, *operations: Operation[Any]) -> None:
        """Run the machine until the operations end, including scheduled actions."""
        end_at = self.scheduler.now + OPERATION_TIMEOUT_S
        while not all(operation.is_over for operation in operations):
            self.scheduler.run(lambda: all(operation.is_over for operation in operations), end_at - self.scheduler.now)
            self.strike()
            self.start_dead_services()
            if self.scheduler.now >= end_at:
                raise StuckError("an operation does not finish")

    def rest(self) -> None:
        """Run the machine until every message in transit has arrived."""
        self.scheduler.run(lambda: False, REST_S)
        self.strike()
        self.start_dead_services()

    def end_all_faults(self) -> None:
        """End every fault, and run until every message in transit has arrived."""
        self.note("-- all faults end")
        self.network.faults = NetworkFaults()
        self.machine.disk.is_full = False
        self.disarm()
        for process in self.scheduler.processes:
            process.stalled_until = min(process.stalled_until, self.scheduler.now)
        self.restart_gateway()
        self.rest()

    # Episodes.

    def change(self, *changes: Change) -> None:
        """Run operations on episodes concurrently; an operation without a response may or may not have been applied."""
        before = {change.label: self.model.episodes.get(change.label, [None]) for change in changes}
        is_calm = not self.is_fault_active and all(
            p.stalled_until <= self.scheduler.now for p in self.scheduler.processes
        )
        operations = [(change, self.start_operation(change.coroutine_function)) for change in changes]
        self.run_until_done(*(operation for _, operation in operations))
        for change, operation in operations:
            states = before[change.label]
            if operation.is_lost:
                self.note(f"{change.label}: {change.what}: no response")
                self.model.set(change.label, [*states, change.after])
            elif self.is_refused(change.label, change.what, operation):
                self.model.set(change.label, states)
            else:
                self.note(f"{change.label}: {change.what}")
                self.model.set(change.label, [change.after])
                self._record_change(change, is_calm=is_calm)
        if self._is_down():
            self.restart_gateway()
        for change, operation in operations:
            if not operation.is_lost and operation.error() is not None:
                self.resolve_state(change.label)

    def is_refused(self, label: str, what: str, operation: Operation[Any]) -> bool:
        """Return whether an operation failed with an accepted error; raises ViolationError for other errors."""
        error = operation.error()
        if error is None:
            return False
        self.note(f"{label}: {what}: {type(error).__name__}: {error}")
        if self.must_succeed:
            raise ViolationError(f"stuck: {label}: {what}: {type(error).__name__}: {error}")
        if isinstance(error, _UNAVAILABLE) or (self.is_damaged and isinstance(error, errors.GatewayError)):
            return True
        if isinstance(error, errors.StorageFullError) and self.machine.disk.is_full:
            return True
        kind = "lost" if isinstance(error, errors.LostSnapshotError | errors.CorruptSnapshotError) else "failed"
        raise ViolationError(f"{kind}: {label}: {what}: {type(error).__name__}: {error}")

    def resolve_state(self, label: str, *, asks_services: bool = True) -> None:
        """Determine the state of an episode among its possible states; raises ViolationError if none matches."""
        states = self.model.episodes[label]
        if not states or self._is_down():
            return
        if self.has_lost_power:
            states = [None, *self.model.past[label], *states]
        if self.episode_or_none(label) is None:
            if None not in states and not (self.is_damaged and self._is_in_quarantine(label)):
                raise ViolationError(f"lost: {label} is missing without a reason")
            self.model.set(label, [None])
            return
        operation = self.start_operation(lambda: self._seen(label, asks_services=asks_services))
        self.run_until_done(operation)
        if operation.is_lost:
            return
        seen = operation.result()
        if seen is None:
            self.note(f"{label} is refused as corrupt")
            self.model.set(label, [])
            return
        self.model.set(label, [self._matching(label, seen, states)])

    def check_everything(self) -> None:
        """Compare every episode with the model and with the services' data; raises ViolationError."""
        self.restart_gateway()
        for label in list(self.model.episodes):
            self.resolve_state(label)
        live = {episode.id for episode in self.gateway.episode_engine.store}
        more = live - {label for label, states in self.model.episodes.items() if states != [None]}
        if more:
            raise ViolationError(f"resurrected: {sorted(more)} are live")
        if not self.is_damaged:
            self._check_folders()
        self.must_succeed = not self.is_damaged
        for name in self.model.snapshots:
            self.fork_snapshot(f"fork of {name}", name)
            self.resolve_state(f"fork of {name}")
        self.must_succeed = False

    def fork_snapshot(self, label: str, name: str) -> None:
        """Fork an episode from a snapshot, replacing the episode with the label."""

        async def coroutine_function() -> None:
            await self.gateway.snapshots.fork(name, 1, label, self.episode_or_none(label))

        self.change(Change(label, f"fork {name[:6]}", coroutine_function, self.model.snapshots[name]))

    async def take(self, label: str, action: Action, number: int | None = None) -> dict[str, Any]:
        """Take a step and return its response."""
        tool, arguments = action.call()
        seen = await self.gateway.episode_engine.step(self.episode(label), tool, arguments, number=number)
        return seen.model_dump()

    def episode(self, label: str) -> Episode:
        """Return the live episode with a label."""
        return self.gateway.episode_engine.store.get(label)

    def episode_or_none(self, label: str) -> Episode | None:
        """Return the live episode with a label, or None."""
        return self.episode(label) if self.gateway.episode_engine.store.has(label) else None

    def _record_change(self, change: Change, *, is_calm: bool) -> None:
        episode = None if self._is_down() else self.episode_or_none(change.label)
        if episode is None or change.after is None:
            return
        self.internal_ids[change.label] = episode.internal_id
        self.model.set(change.label, [change.after.with_answers(step_answers(episode))])
        if is_failed(episode) and not change.after.is_failed:
            self.note(f"{change.label}: ended as infra_error")
            if is_calm and not self.is_damaged:
                raise ViolationError(f"lost: {change.label}: {change.what}: infra_error without a fault")
            self.model.set(change.label, [change.after.as_failed()])

    def _matching(self, label: str, seen: ObservedEpisode, states: Sequence[EpisodeModel | None]) -> EpisodeModel:
        differences = []
        for played in states:
            problem = "resurrected: it should not exist" if played is None else difference(seen, played)
            if played is not None and not problem:
                return played
            differences.append(problem)
        known = [played for played in states if played is not None]
        if seen.is_failed and known:
            return known[-1].as_failed()
        raise ViolationError(f"{differences[-1]} ({label})")

    async def _seen(self, label: str, *, asks_services: bool) -> ObservedEpisode | None:
        episode = self.episode(label)
        async with episode.call_lock():
            has_failed = is_failed(episode)
            entries = {service: episode.evidence.table(service, "entries") for service in SERVICES}
            torn = []
            for service in SERVICES if asks_services and not has_failed else ():
                digest = await self._digest(episode, service)
                if digest is None:
                    return None
                if digest != episode.evidence.fold_digest(service):
                    reply = await self.gateway.episode_engine.service_clients.evidence(
                        service, episode.context(service, Actor.TRAINER)
                    )
                    torn.append(service)
                    entries[service] = fold_changes(reply)
            return observed_episode(episode.task.key.seed, step_answers(episode), entries, torn, is_failed=has_failed)

    async def _digest(self, episode: Episode, service: str) -> str | None:
        """Return the digest of a service's data, or None if it refuses; retry if there is no response."""
        for _ in range(_MAX_TRIES):
            context = episode.context(service, Actor.TRAINER)
            try:
                return (
                    await self.gateway.episode_engine.service_clients.digest(
                        service, context, episode.seed_document(service)
                    )
                ).digest
            except errors.InfrastructureError as fault:
                if "could not be reached" in str(fault):
                    continue
                if self.is_damaged:
                    return None
                raise ViolationError(f"lost: {episode.id}: {fault}") from fault
        raise StuckError(f"{service} does not respond")

    def _check_folders(self) -> None:
        """Raise ViolationError if a process has files of an episode that is not live."""
        self.rest()  # ended episodes are removed in the background
        live = {episode.internal_id for episode in self.gateway.episode_engine.store}
        for name in ("gateway", *SERVICES):
            folders = {path.name for path in (self.machine.disk.folder / name / "episodes").glob("*")}
            if folders - live:
                raise ViolationError(f"resurrected: {name} has files of {sorted(folders - live)}, which are not live")

    def _check_start(self, error: BaseException | None) -> None:
        if error is not None:
            raise ViolationError(f"lost: the gateway does not start: {error!r}")

    def _is_in_quarantine(self, label: str) -> bool:
        internal_id = self.internal_ids.get(label, "nothing")
        found = self.machine.disk.folder.glob("*/quarantine/**/*")
        return any(internal_id in str(path) for path in found)

    def _is_down(self) -> bool:
        return self.gateway.process.is_dead


def is_failed(episode: Episode) -> bool:
    """Return whether an episode ended as infra_error."""
    return episode.outcome is Outcome.INFRA_ERROR


def step_answers(episode: Episode) -> list[StepAnswer]:
    """Return the responses of an episode's steps, as stored by the gateway."""
    return [(line.tool, line.now.isoformat(), line.reward) for line in episode.progress.step_summaries]


def ending_of(operation: Operation[Any]) -> str:
    """Return the result or error of an operation as text."""
    if not operation.is_over or operation.is_lost:
        return "still running"
    error = operation.error()
    return f"{operation.result()} episodes" if error is None else f"{type(error).__name__}: {error}"
