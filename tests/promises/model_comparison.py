"""Comparison of an enterprise with its model: moves of both, and conditions that must hold after every move."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from hypothesis.stateful import RuleBasedStateMachine, invariant

from companyos.contract import ResetOptions
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.errors import GatewayError
from companyos_shared.streams import digest
from companyos_shared.wire.context import Actor
from companyos_shared.wire.control import Rows
from tests.promises import demo_scenario
from tests.promises.enterprise import Enterprise, NetworkFault
from tests.promises.model import Action, EpisodeModel, Model, Observation, SnapshotModel

T = TypeVar("T")

MEMORY = Path("/dev/shm")
DEADLINE_S = 100.0


class ModelMismatchError(AssertionError):
    """Raised if the enterprise differs from the model, or fails unexpectedly."""


class ModelComparison(RuleBasedStateMachine):
    """The promises: an episode is never torn, duplicated, lost or mixed with another one."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = Path(tempfile.mkdtemp(prefix="companyos-promises-", dir=MEMORY if MEMORY.is_dir() else None))
        self._runner = asyncio.Runner()
        self.model = Model()
        self.enterprise = Enterprise(self._folder)
        self._acted: str | None = None

    def teardown(self) -> None:
        """Compare everything once more, and clean up."""
        try:
            for label in self.model.live:
                self.do(self._check_evidence(label))
        finally:
            self._runner.run(self.enterprise.kill_gateway())
            self._runner.close()
            self.enterprise.close()
            shutil.rmtree(self._folder)

    @invariant()
    def every_episode_matches_the_model(self) -> None:
        """The states for the trainer equal those of the model, and no other episode is live."""
        live = {episode.id: episode.state() for episode in self.enterprise.episodes()}
        _check(live.keys() == self.model.live.keys(), f"live are {sorted(live)}, not {sorted(self.model.live)}")
        for label, played in self.model.live.items():
            state = live[label]
            now = state.now.isoformat().replace("+00:00", "Z") if state.now else None
            actual = (state.seed, state.step_count, now, state.return_, state.done)
            expected = (played.seed, played.step, played.now, played.return_, played.is_over)
            _check(actual == expected, f"{label} stands at {actual}, not at {expected}")

    @invariant()
    def every_database_holds_the_rows_of_the_model(self) -> None:
        """The databases contain exactly the rows of the model."""
        for label, played in self.model.live.items():
            try:
                held = self.enterprise.marked_rows(self.episode(label))
            except (OSError, LookupError, sqlite3.Error) as error:
                raise ModelMismatchError(f"{label} has no whole manifest or database: {error}") from error
            _check(held == played.rows, f"{label} holds {dict(held)}, not {dict(played.rows)}")

    @invariant()
    def what_was_reported_folds_to_what_is_held(self) -> None:
        """Checks the episode that was moved last; `teardown` checks all of them."""
        if self._acted in self.model.live:
            self.do(self._check_evidence(self._acted))
        self._acted = None

    @invariant()
    def no_snapshot_ever_changes(self) -> None:
        """Every file of every snapshot has the same bytes as when the snapshot was taken."""
        found = self.enterprise.fingerprints()
        for snapshot_id, kept in self.model.snapshots.items():
            _check(kept.fingerprints.items() <= found.items(), f"the snapshot {snapshot_id} changed")

    @invariant()
    def nothing_is_left_of_an_episode_that_was_dropped(self) -> None:
        """Every episode folder belongs to a live episode; the gateway has one for each."""
        live = {episode.internal_id for episode in self.enterprise.episodes()}
        for name, found in self.enterprise.episode_folders().items():
            _check(found == live if name == "gateway" else found <= live, f"{name} keeps {found - live}")

    def do(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run an operation to completion; failures are raised as ModelMismatchError."""
        try:
            return self._runner.run(_in_time(coroutine))
        except Exception as error:
            raise ModelMismatchError(f"{type(error).__name__}: {error}") from error

    def refused(self, coroutine: Coroutine[Any, Any, Any], problem: type[GatewayError]) -> None:
        """Run an operation that must be refused."""
        try:
            self._runner.run(_in_time(coroutine))
        except problem:
            return
        except Exception as error:
            raise ModelMismatchError(f"{type(error).__name__}: {error}, not {problem.__name__}") from error
        raise ModelMismatchError(f"nothing was refused, which should be {problem.__name__}")

    def inject_fault(self, fault: NetworkFault | None) -> None:
        """Set the fault of the next call to every service, or none."""
        for wire in self.enterprise.transports.values():
            wire.fault = fault

    def begin(self, label: str, seed: int) -> None:
        """Reset an episode, as the next epoch of a live one or as a new one."""
        previous = self.episode(label) if label in self.model.live else None
        options = ResetOptions(scenario=demo_scenario.NAME, seed=seed, chaos=0, episode_id=label)
        self.do(self.enterprise.engine.reset(options, previous))
        self.model.reset(label, seed)
        self._acted = label

    def take(self, label: str, action: Action, number: int | None = None) -> Observation:
        """Take a step and return its observation."""
        return self.do(self.take_step(label, action, number))

    async def take_step(self, label: str, action: Action, number: int | None = None) -> Observation:
        """Take a step and return its observation, as a coroutine."""
        self._acted = label
        engine = self.enterprise.engine
        observation = await engine.step(self.episode(label), action.tool, action.arguments, number=number)
        return observation.model_dump()

    def learn(self, label: str, action: Action, seen: Observation) -> None:
        """Apply a step that the enterprise has taken to the model."""
        try:
            self.model.take(label, action, seen)
        except AssertionError as error:
            raise ModelMismatchError(str(error)) from error

    def keep(self, snapshot_id: str, played: EpisodeModel) -> None:
        """Store a taken snapshot in the model."""
        found, names = self.enterprise.fingerprints(), self.enterprise.files_of_snapshot(snapshot_id)
        _check(names <= found.keys(), f"the snapshot {snapshot_id} lacks {names - found.keys()}")
        self.model.snapshots[snapshot_id] = SnapshotModel(played.copy(), {name: found[name] for name in names})

    def free(self, label: str) -> None:
        """Drop an episode, and wait until its removal is complete."""
        self.do(self.enterprise.free(self.episode(label)))
        del self.model.live[label]

    def restart_gateway(self) -> None:
        """Kill the gateway and start one that restores its state from the files."""
        self.do(self.enterprise.kill_gateway())
        found = self.do(self.enterprise.start_gateway())
        _check(found == len(self.model.live), f"{found} of {len(self.model.live)} episodes were found again")

    def episode(self, label: str) -> Episode:
        """Return the live episode with that label."""
        return self.enterprise.engine.store.get(label)

    async def _check_evidence(self, label: str) -> None:
        episode = self.episode(label)
        for service in demo_scenario.SERVICES:
            if self.enterprise.has_opened(service, episode):
                held = await self.enterprise.engine.service_clients.digest(
                    service, episode.context(service, Actor.TRAINER)
                )
                _check(digest(_folded(episode, service)) == held.digest, f"{label}: the evidence of {service} is torn")


async def _in_time(coroutine: Coroutine[Any, Any, T]) -> T:
    async with asyncio.timeout(DEADLINE_S):
        return await coroutine


def _folded(episode: Episode, service: str) -> Rows:
    evidence = episode.evidence.as_json()
    rows: Rows = {table: dict(found) for table, found in evidence["initial"][service].items()}
    for change in evidence["changes"].get(service, ()):
        if change["after"] is None:
            del rows[change["table"]][change["key"]]
        else:
            rows[change["table"]][change["key"]] = change["after"]
    return rows


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise ModelMismatchError(message)
