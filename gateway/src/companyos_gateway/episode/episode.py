"""One live episode: where it stands, and who waits for it."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from importlib import metadata
from typing import Any

from companyos.contract import CompanyOSResetObservation, CompanyOSState, Outcome, ResetOptions
from companyos_gateway.episode.errors import EpisodeClosed, EpisodeDone, TooManyWaiting
from companyos_gateway.episode.observations import StepObservation
from companyos_gateway.episode.outcome import Ledger
from companyos_gateway.episode.task import Task
from companyos_gateway.rubrics import Evidence, FinishDeclaration, Verdict
from companyos_shared.streams import canonical_json
from companyos_shared.wire.context import Actor, CallContext, Fault
from companyos_shared.wire.control import Report

MOST_WAITING = 8
VERSION = metadata.version("companyos-gateway")


@dataclass(frozen=True, slots=True)
class TrailLine:
    """One step in a few words, for people."""

    step: int
    now: datetime
    tool: str
    outcome: str
    reward: float


@dataclass(frozen=True, slots=True)
class LastStep:
    """The last step taken, kept for whoever asks for it again."""

    tool_name: str
    arguments: dict[str, Any]
    observation: StepObservation

    def is_same(self, tool_name: str, arguments: dict[str, Any]) -> bool:
        """Say whether the action is the one that was taken."""
        return canonical_json([tool_name, arguments]) == canonical_json([self.tool_name, self.arguments])


@dataclass(slots=True)
class Episode:
    """An episode between its reset and its end. `id` is the client's label, `internal_id` the services' one."""

    id: str
    internal_id: str
    epoch: int
    options: ResetOptions
    task: Task
    evidence: Evidence
    ledger: Ledger
    verdict: Verdict
    now: datetime
    next_due_at: dict[str, datetime | None]
    last_seq: Counter[str] = field(default_factory=Counter)
    step: int = 0
    outcome: Outcome | None = None
    finish: FinishDeclaration | None = None
    closed: bool = False
    calls: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    touched: set[str] = field(default_factory=set)
    trail: list[TrailLine] = field(default_factory=list)
    last_step: LastStep | None = None
    used_at: float = field(default_factory=time.monotonic)
    detached_at: float | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _waiting: int = 0
    _state: CompanyOSState | None = None

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self.outcome is not None

    @property
    def steps_left(self) -> int:
        """Steps before the episode is out of steps."""
        return max(0, self.task.instance.max_steps - self.step)

    @property
    def busy(self) -> bool:
        """Whether a call of this episode runs."""
        return self.lock.locked()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the episode's turn, one call at a time; raises TooManyWaiting (429)."""
        if self._waiting >= MOST_WAITING:
            raise TooManyWaiting(f"{MOST_WAITING} calls wait for this episode.")
        self._waiting += 1
        try:
            await self.lock.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self.used_at = time.monotonic()
            self._state = None
            self.lock.release()

    def check_may_step(self) -> None:
        """Raise EpisodeClosed or EpisodeDone (409) where no step is left to take."""
        if self.outcome not in (None, Outcome.CLOSED):
            raise EpisodeDone(f"The episode ended as {self.outcome}.")
        if self.closed:
            raise EpisodeClosed

    def context(self, service: str, actor: Actor, fault: Fault | None = None) -> CallContext:
        """Return the context of a call of the current step."""
        return CallContext(
            episode=self.internal_id,
            epoch=self.epoch,
            source=self.task.sources[service],
            step=self.step,
            actor=actor,
            now=self.now,
            fault=fault,
        )

    def record(self, service: str, report: Report) -> None:
        """Take in the control side of an answer."""
        self.evidence.record(service, report)
        self.next_due_at[service] = report.next_due_at
        if report.changes:
            self.last_seq[service] = report.changes[-1].seq

    def first_observation(self) -> CompanyOSResetObservation:
        """Return what a reset answers."""
        instance = self.task.instance
        return CompanyOSResetObservation(
            brief=instance.brief,
            company=instance.company_name,
            acting_as=instance.acting_as,
            now=self.now,
            steps_left=self.steps_left,
        )

    def state(self) -> CompanyOSState:
        """Return the trainer's view, cached until the next call."""
        if self._state is None:
            self._state = CompanyOSState.model_validate(
                {
                    "episode_id": self.id,
                    "step_count": self.step,
                    "scenario": self.task.key.scenario,
                    "seed": self.task.key.seed,
                    "chaos": self.task.key.chaos,
                    "done": self.done,
                    "outcome": self.outcome,
                    "success": self.outcome is Outcome.SUCCESS if self.done else None,
                    "return": self.ledger.return_,
                    "now": self.now,
                    "max_steps": self.task.instance.max_steps,
                    "epoch": self.epoch,
                    "version": VERSION,
                }
            )
        return self._state
