"""Moves of players, and faults of the deployment."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import httpx

from companyos.contract import ResetOptions
from verification.simulation.driver import (
    FOREVER,
    OPERATION_TIMEOUT_S,
    Change,
    Driver,
    ViolationError,
    ending_of,
    is_failed,
)
from verification.simulation.model import Action, EpisodeModel, Kind
from verification.simulation.network import NetworkFaults
from verification.simulation.service import MAX_STEPS, SCENARIO, SERVICES

LABELS = ("a", "b", "c")
SEEDS = (1, 2)
PROBE, FORK = "probe", "fork of the probe"
MAX_REPLAYED = 64
"""The fault `replay` chooses among so many first requests of a history."""

MOVES = {
    "step": 6,
    "step_twice": 2,
    "steps_together": 2,
    "reset": 2,
    "snapshot": 4,
    "snapshot_in_step": 2,
    "restore": 3,
    "fork": 2,
    "drop": 1,
    "forget_snapshot": 1,
}
"""Every move with its weight."""

FAULTS = {
    "kill_gateway": 3,
    "kill_service": 3,
    "stall_service": 2,
    "stall_gateway": 1,
    "stall_across_restart": 4,
    "restart_unseen": 2,
    "bad_line": 2,
    "replay": 2,
    "second_gateway": 1,
    "take_over": 1,
    "jump_clock": 1,
    "fill_disk": 1,
    "lose_power": 1,
    "flip_bit": 1,
    "cut_off": 1,
    "delete_file": 1,
}
"""Every fault with its weight."""


class Moves(Driver):
    """Each move takes the label of an episode; some ignore it."""

    _texts = 0

    # Moves.

    def reset(self, label: str) -> None:
        """Reset an episode: start the next epoch of a live one, or a new one."""
        played = self.model.fresh(self.rng.choice(SEEDS))
        options = ResetOptions(scenario=SCENARIO, seed=played.seed, chaos=0, episode_id=label)

        async def coroutine_function() -> None:
            await self.gateway.episode_engine.reset(options, self.episode_or_none(label))

        self.change(Change(label, f"reset to seed {played.seed}", coroutine_function, played))

    def step(self, label: str) -> None:
        """Take some steps."""
        for _ in range(self.rng.randint(1, 3)):
            if self._can_step(label):
                self.change(self._step_change(label, self._action()))

    def step_twice(self, label: str) -> None:
        """Send one step twice concurrently with the same number; it must be applied once."""
        if self._can_step(label):
            action, number = self._action(), len(self.model.of(label).actions) + 1
            after = self.model.of(label).after_step(action)
            self.change(
                Change(label, f"step twice: {action}", lambda: self._step_twice_at_once(label, action, number), after)
            )

    def steps_together(self, _label: str) -> None:
        """Take a step in every episode concurrently."""
        self.change(*(self._step_change(label, self._action()) for label in LABELS if self._can_step(label)))

    def snapshot(self, label: str) -> None:
        """Take a snapshot."""
        if self._can_step(label):
            self._snapshot(label, self.model.of(label))

    def snapshot_in_step(self, label: str) -> None:
        """Take a snapshot during a step; it contains the state before or after the step."""
        if self._can_step(label):
            step_change = self._step_change(label, self._action())
            before = self.model.of(label)
            operation = self.start_operation(lambda: self.gateway.snapshots.take(self.episode(label)))
            self.change(step_change)
            self.run_until_done(operation)
            if not operation.is_lost and not self.is_refused(label, "snapshot in a step", operation):
                info = operation.result()
                self.note(f"{label}: snapshot {info.id[:6]} at step {info.step}")
                if self._can_step(label):
                    self.model.snapshots[info.id] = before if info.step == len(before.actions) else self.model.of(label)

    def restore(self, label: str) -> None:
        """Restore an episode to a snapshot of its own lineage."""
        if label in self.model.live():
            lineage = self.model.of(label).lineage
            own = [name for name, played in self.model.snapshots.items() if played.lineage == lineage]
            if own:
                self._restore(label, self.rng.choice(own))

    def fork(self, label: str) -> None:
        """Fork an episode from a snapshot, replacing the episode with the label."""
        if self.model.snapshots:
            self.fork_snapshot(label, self.rng.choice(list(self.model.snapshots)))

    def drop(self, label: str) -> None:
        """End an episode."""
        if label in self.model.live():

            async def coroutine_function() -> None:
                self.gateway.episode_engine.store.free(self.episode(label))

            self.change(Change(label, "drop", coroutine_function, None))

    def forget_snapshot(self, _label: str) -> None:
        """Delete a snapshot."""
        if self.model.snapshots:
            name = self.rng.choice(list(self.model.snapshots))
            del self.model.snapshots[name]
            operation = self.start_operation(lambda: self.gateway.snapshots.delete(name))
            self.run_until_done(operation)
            self.note(f"snapshot {name[:6]} is deleted")
            if operation.is_lost:
                self.restart_gateway()
            else:
                self.is_refused("snapshot", "delete", operation)

    def probe(self) -> None:
        """Start an episode, restore and fork it, which must always succeed.

        Calls of the epoch before the restore must have no effect, and steps of the fork none on the episode.
        """
        self.note("-- probe")
        was_damaged, self.is_damaged, self.must_succeed = self.is_damaged, False, True
        self.reset(PROBE)
        if PROBE not in self.model.live():
            raise ViolationError("stuck: no fault is active, and no episode can be started")
        self._write(PROBE)
        self._snapshot(PROBE, self.model.of(PROBE))
        name = next((name for name, played in self.model.snapshots.items() if played == self.model.of(PROBE)), None)
        if name is None:
            raise ViolationError("stuck: no fault is active, and no snapshot can be taken")
        sent = len(self.network.sent)
        self._write(PROBE)
        self._write(PROBE)
        late = self.network.sent[sent:]
        self._restore(PROBE, name)
        self._write(PROBE)
        self._replay(late)
        self.resolve_state(PROBE)
        self.fork_snapshot(PROBE, name)
        self.fork_snapshot(FORK, name)
        self._write(FORK)
        self.resolve_state(PROBE)
        self.is_damaged, self.must_succeed = was_damaged, False

    # Faults.

    def kill_gateway(self, label: str) -> None:
        """Kill the gateway during an operation, and sometimes its successor while that starts."""
        self.arm(self.gateway.process, self.kill)
        self._random_move(label)
        self.disarm()
        self.kill(self.gateway.process)
        if self.rng.random() < 0.4:
            self._gateway = self.deployment.start_gateway()
            self.arm(self.gateway.process, self.kill, most=60)
            self.run_until_done(self.gateway.started)
        self.restart_gateway()

    def kill_service(self, label: str) -> None:
        """Kill a service during an operation and restart it."""
        self.arm(self.deployment.services[self.rng.choice(SERVICES)], self.kill)
        self._random_move(label)
        self.start_dead_services()

    def stall_service(self, label: str) -> None:
        """Pause a service during an operation."""
        seconds = self.rng.choice((0.1, 1.0, 3.0, 8.0))
        self.arm(self.deployment.services[self.rng.choice(SERVICES)], lambda process: self.stall(process, seconds))
        self._random_move(label)

    def stall_gateway(self, label: str) -> None:
        """Pause the gateway during an operation."""
        seconds = self.rng.choice((0.1, 1.0, 3.0, 8.0))
        self.arm(self.gateway.process, lambda process: self.stall(process, seconds))
        self._random_move(label)

    def stall_across_restart(self, label: str) -> None:
        """Pause a service during a step, restart the gateway and usually the service, then resume the old process."""
        name = self.rng.choice(SERVICES)
        old = self.deployment.services[name]
        if not self._can_step(label) or old.is_dead:
            return
        self.arm(old, lambda process: self.stall(process, FOREVER), most=25)
        action = Action(Kind.ADD, name, self._text()) if self.rng.random() < 0.7 else Action(Kind.COUNT, name)
        step_change = self._step_change(label, action)
        operation = self.start_operation(step_change.coroutine_function)
        self.scheduler.run(lambda: operation.is_over or old.stalled_until == FOREVER, 1.0)
        self.strike()
        self.disarm()
        if operation.is_over:
            if not self.is_refused(label, str(action), operation):
                self.model.set(label, [step_change.after])
            self.resolve_state(label)
            return
        self.note(f"{label}: {action} is in transit")
        self.model.set(label, [*self.model.episodes[label], step_change.after])
        self.kill(self.gateway.process)
        if self.rng.random() < 0.8:
            self.restart_service(name)
        else:
            self.stall(old, self.rng.choice((0.1, 1.0, 8.0)))
        self.restart_gateway()
        if self.rng.random() < 0.7:
            self._random_move(label)
        if old.stalled_until == FOREVER and not old.is_dead:
            self.note(f"{old.name} resumes")
            old.stalled_until = 0.0
        self.rest()
        self.resolve_state(label)

    def restart_unseen(self, _label: str) -> None:
        """Start a new process of a service, after killing the old one or while it continues to run."""
        name = self.rng.choice(SERVICES)
        if self.rng.random() < 0.5:
            self.kill(self.deployment.services[name])
        self.restart_service(name)

    def bad_line(self, label: str) -> None:
        """Lose, duplicate and delay messages during an operation."""
        self.network.faults = NetworkFaults(lost=0.15, doubled=0.15, delayed=0.15)
        self._random_move(label)
        self.network.faults = NetworkFaults()

    def replay(self, _label: str) -> None:
        """Deliver earlier requests again."""
        sent = self.network.sent[:MAX_REPLAYED]
        self._replay(self.rng.sample(sent, min(len(sent), self.rng.randint(1, 6))))

    def second_gateway(self, _label: str) -> None:
        """Start a gateway of another folder on the same services, and kill it."""
        other = self.deployment.start_gateway("other")
        self.scheduler.run(lambda: other.started.is_over, OPERATION_TIMEOUT_S)
        self.note(f"{other.process.name}: {ending_of(other.started)}")
        self.kill(other.process)

    def take_over(self, label: str) -> None:
        """Let a gateway of another folder take over the services; calls of the first one must have no effect."""
        databases = self._held_databases()
        other = self.deployment.start_gateway("other", take_over=True)
        self.run_until_done(other.started)
        self.note(f"{other.process.name} takes over: {ending_of(other.started)}")
        if other.process.is_dead or other.started.error() is not None:
            raise ViolationError(f"failed: a gateway cannot take over: {ending_of(other.started)}")
        self.is_damaged = self.takes_over = True
        if self._can_step(label):
            self._step_superseded(label)
        self.kill(other.process)
        self.kill(self.gateway.process)
        self._check_databases(databases)
        self.restart_gateway()
        self._check_databases(databases)

    def jump_clock(self, _label: str) -> None:
        """Change the wall clock by up to a day."""
        self.machine.wall_jump_s += self.rng.choice((-86_400.0, -90.0, -5.0, 5.0, 90.0, 86_400.0))

    def fill_disk(self, label: str) -> None:
        """Fill the disk during an operation."""
        self.machine.disk.is_full = True
        self._random_move(label)
        self.machine.disk.is_full = False

    def lose_power(self, label: str) -> None:
        """Lose power during an operation."""
        self.arm(self.gateway.process, self._cut_power)
        self._random_move(label)
        self.disarm()
        if not self.has_lost_power:
            self._cut_power(self.gateway.process)
        self.restart_gateway()
        self.has_lost_power = False

    def flip_bit(self, _label: str) -> None:
        """Kill all processes and flip one bit of a file."""
        self._damage(self.machine.disk.flip_bit)

    def cut_off(self, _label: str) -> None:
        """Kill all processes and truncate a file."""
        self._damage(self.machine.disk.cut_off)

    def delete_file(self, _label: str) -> None:
        """Kill all processes and delete a file."""
        self._damage(self.machine.disk.delete)

    # Helpers.

    def _random_move(self, label: str) -> None:
        """Make a random move, mostly a step."""
        name = self.rng.choice(list(MOVES)) if self.rng.random() < 0.5 else "step"
        self.note(f"   {name}")
        self.result.moves[name] += 1
        getattr(self, name)(label)

    def _write(self, label: str) -> None:
        for service in SERVICES:
            self.change(self._step_change(label, Action(Kind.ADD, service, self._text())))

    def _restore(self, label: str, name: str) -> None:
        async def coroutine_function() -> None:
            await self.gateway.snapshots.restore(self.episode(label), name)

        self.change(Change(label, f"restore {name[:6]}", coroutine_function, self.model.snapshots[name]))

    def _replay(self, requests: Sequence[tuple[str, httpx.Request]]) -> None:
        for address, request in requests:
            self.note(f"{request.url.path} to {address} is replayed")
            self.network.replay(address, request)
        self.rest()

    def _cut_power(self, _process: object) -> None:
        for process in self.scheduler.processes:
            process.kill()
        self.is_damaged = self.has_lost_power = True
        self.note(f"power loss: {self.machine.disk.lose_power()} files changed")

    def _damage(self, damage: Callable[[], str]) -> None:
        for process in self.scheduler.processes:
            process.kill()
        self.is_damaged = True
        self.note(damage())
        databases = self._held_databases()
        self.restart_gateway()
        self._check_databases(databases)

    def _step_superseded(self, label: str) -> None:
        """Take a step through a superseded gateway; it must not be applied."""
        action = Action(Kind.ADD, self.rng.choice(SERVICES), self._text())
        operation = self.start_operation(self._step_change(label, action).coroutine_function)
        self.run_until_done(operation)
        episode = self.episode_or_none(label)
        if operation.error() is None and episode is not None and not is_failed(episode):
            raise ViolationError(f"doubled: {label}: a superseded gateway applied {action}")

    def _held_databases(self) -> set[tuple[str, str]]:
        """Return service and internal id of every live episode of which a service has database files."""
        ids = [self.internal_ids[label] for label in self.model.live()]
        return {
            (service, internal_id) for service in SERVICES for internal_id in ids if self._holds(service, internal_id)
        }

    def _holds(self, service: str, internal_id: str) -> bool:
        found = (self.machine.disk.folder / service).rglob("*.db")
        return any(internal_id in str(path) for path in found)

    def _check_databases(self, databases: set[tuple[str, str]]) -> None:
        for service, internal_id in sorted(databases):
            if not self._holds(service, internal_id):
                raise ViolationError(f"lost: {service} has deleted the database of {internal_id}, which is still live")

    def _snapshot(self, label: str, played: EpisodeModel) -> None:
        operation = self.start_operation(lambda: self.gateway.snapshots.take(self.episode(label)))
        self.run_until_done(operation)
        if operation.is_lost:
            self.note(f"{label}: unknown whether the snapshot was taken")
            self.restart_gateway()
        elif not self.is_refused(label, "snapshot", operation):
            info = operation.result()
            self.note(f"{label}: snapshot {info.id[:6]} at step {info.step}")
            if info.step != len(played.actions):
                raise ViolationError(f"torn: a snapshot of {label} is of step {info.step}, not {len(played.actions)}")
            self.model.snapshots[info.id] = played

    def _step_change(self, label: str, action: Action) -> Change:
        async def coroutine_function() -> None:
            await self.take(label, action)

        return Change(label, str(action), coroutine_function, self.model.of(label).after_step(action))

    async def _step_twice_at_once(self, label: str, action: Action, number: int) -> None:
        create = self.gateway.process.loop.create_task
        first, second = create(self.take(label, action, number)), create(self.take(label, action, number))
        if await first != await second:
            raise ViolationError("doubled: one step got two responses")

    def _can_step(self, label: str) -> bool:
        """Return whether an episode is live, in a known state, and can take a step."""
        if label not in self.model.live() or self.gateway.process.is_dead:
            return False
        played = self.model.of(label)
        return not played.is_failed and len(played.actions) < MAX_STEPS

    def _text(self) -> str:
        self._texts += 1
        return f"m{self._texts}"

    def _action(self) -> Action:
        drawn, service = self.rng.random(), self.rng.choice(SERVICES)
        if drawn < 0.5:
            return Action(Kind.ADD, service, self._text())
        if drawn < 0.75:
            return Action(Kind.COUNT, service)
        if drawn < 0.85:
            return Action(Kind.LIST, service)
        return Action(Kind.WAIT, minutes=self.rng.choice((5, 30)))
