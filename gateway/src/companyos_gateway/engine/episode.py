"""One live episode: its state, and its queues of calls and inspections."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from importlib import metadata
from typing import Any

from openenv.core.env_server.types import Observation

from companyos.contract import CompanyOSResetObservation, CompanyOSState, Outcome, ResetOptions
from companyos_gateway.engine.errors import (
    EpisodeClosedError,
    EpisodeDoneError,
    EpisodeQueueFullError,
    StepConflictError,
)
from companyos_gateway.engine.journal import Journal, PageView
from companyos_gateway.engine.manifest import Manifest
from companyos_gateway.engine.observations import StepObservation
from companyos_gateway.engine.progress import Progress
from companyos_gateway.engine.task_cache import Task
from companyos_gateway.evaluation import Evidence, Verdict
from companyos_gateway.tasks import TaskRef
from companyos_shared.wire.context import Actor, CallContext, Fault

MAX_QUEUED_CALLS = 8
MAX_QUEUED_INSPECTIONS = 8
FREE_PAGE_VIEWS = 50
"""Page views of an agent at the start of an episode; each step adds one."""

VERSION = metadata.version("companyos-gateway")


@dataclass(slots=True)
class Episode:
    """An episode between its reset and its end.

    `id` is the client's label, `internal_id` the id in the services. `holder` is the connection that plays the
    episode, if there is one.
    """

    id: str
    internal_id: str
    lineage: str
    options: ResetOptions
    task: Task
    epoch: int
    sources: Mapping[str, str]
    progress: Progress
    journal: Journal
    token: str = field(repr=False)
    published: TaskRef | None = None
    closed: bool = False
    began_at: float = field(default_factory=time.monotonic)
    used_at: float = field(default_factory=time.monotonic)
    detached_at: float | None = None
    holder: object | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    queued: Counter[str] = field(default_factory=Counter)
    """Number of calls and of inspections that wait for the lock."""
    on_close: list[Callable[[], None]] = field(default_factory=list)
    """Called when the episode is closed."""
    _state: CompanyOSState | None = None

    @classmethod
    def of(cls, manifest: Manifest, task: Task, progress: Progress, journal: Journal, token: str) -> Episode:
        """Return the episode of a committed manifest."""
        return cls(
            id=manifest.id,
            internal_id=manifest.internal_id,
            lineage=manifest.lineage,
            options=manifest.options,
            task=task,
            epoch=manifest.epoch,
            sources=manifest.sources,
            progress=progress,
            journal=journal,
            token=token,
            published=manifest.published,
        )

    @property
    def manifest(self) -> Manifest:
        """The manifest of the current epoch."""
        return Manifest(
            version=VERSION,
            id=self.id,
            internal_id=self.internal_id,
            epoch=self.epoch,
            lineage=self.lineage,
            task=self.task.key,
            options=self.options,
            planned=dict(self.task.sources),
            sources=dict(self.sources),
            published=self.published,
        )

    @property
    def step(self) -> int:
        """Steps taken so far."""
        return self.progress.step

    @property
    def now(self) -> datetime:
        """Simulated time."""
        return self.progress.now

    @property
    def outcome(self) -> Outcome | None:
        """The outcome of the episode; None while it is live."""
        return self.progress.outcome

    @property
    def evidence(self) -> Evidence:
        """The evidence reported by the services so far."""
        return self.progress.evidence

    def verdict(self) -> Verdict:
        """Return the verdict on the current state of the episode; raises any exception of the rubric."""
        return self.task.instance.rubric.judge(self.evidence, self.progress.finish)

    @property
    def done(self) -> bool:
        """Return whether the episode has ended."""
        return self.outcome is not None

    @property
    def steps_left(self) -> int:
        """Number of steps that the agent may still take."""
        return max(0, self.task.instance.max_steps - self.progress.step)

    @property
    def page_views_left(self) -> int:
        """Number of pages of the apps that the agent may open before its next step.

        Beyond the free ones, a page view costs as much as a read with a tool: one step.
        """
        return max(0, FREE_PAGE_VIEWS + self.step - self.progress.page_views)

    @property
    def busy(self) -> bool:
        """Return whether a call of this episode is running."""
        return self.lock.locked()

    def call_lock(self) -> AbstractAsyncContextManager[None]:
        """Hold the lock of the episode for one call; raises EpisodeQueueFullError (429)."""
        return self._hold_lock("calls", MAX_QUEUED_CALLS)

    def inspection_lock(self) -> AbstractAsyncContextManager[None]:
        """Hold the lock for an inspection, which has a queue of its own; raises EpisodeQueueFullError (429)."""
        return self._hold_lock("inspections", MAX_QUEUED_INSPECTIONS)

    @asynccontextmanager
    async def _hold_lock(self, queue: str, limit: int) -> AsyncIterator[None]:
        if self.queued[queue] >= limit:
            raise EpisodeQueueFullError(f"{limit} {queue} of this episode are waiting.")
        self.queued[queue] += 1
        try:
            await self.lock.acquire()
        finally:
            self.queued[queue] -= 1
        try:
            yield
        finally:
            self.used_at = time.monotonic()
            self._state = None
            self.lock.release()

    def close(self) -> None:
        """Close the episode; if it has no outcome yet, it ends with the outcome `closed`."""
        self.closed, self._state = True, None
        self.journal.close()
        if not self.done:
            self.progress.outcome = Outcome.CLOSED
            self.progress.ledger.add_close()
        for callback in self.on_close:
            callback()

    def record_view(self, shown: list[dict[str, Any]], *, is_counted: bool) -> None:
        """Record those objects shown by a page after the last step that are new to the agent."""
        view = PageView(step=self.step, shown=self.evidence.add_view(self.step, shown), is_counted=is_counted)
        self.progress.page_views += is_counted
        if view.shown or is_counted:
            self.journal.record_view(view)

    def check_can_step(self) -> None:
        """Raise EpisodeClosedError or EpisodeDoneError (409) if the episode accepts no more steps."""
        if self.outcome not in (None, Outcome.CLOSED):
            raise EpisodeDoneError(f"The episode ended as {self.outcome}.")
        if self.closed:
            raise EpisodeClosedError

    def find_repeated(self, tool_name: str, arguments: dict[str, Any], number: int | None) -> StepObservation | None:
        """Return the observation of the last step if the call repeats it, None if it is a new step.

        Raises StepConflictError (409) for any other number, or for the last number with another action.
        """
        if number is None or number == self.step + 1:
            return None
        last = self.progress.last_step
        if last is None or number != self.step:
            raise StepConflictError(f"The next step is {self.step + 1}.")
        if not last.is_same(tool_name, arguments):
            raise StepConflictError(f"Step {number} had a different action.")
        return last.observation

    def context(self, service: str, actor: Actor, fault: Fault | None = None) -> CallContext:
        """Return the context of a call of the current step."""
        return CallContext(
            episode=self.internal_id,
            epoch=self.epoch,
            source=self.sources[service],
            step=self.progress.step,
            actor=actor,
            now=self.progress.now,
            fault=fault,
            written_step=self.progress.written_step[service],
            written_seq=self.progress.last_seq[service],
        )

    def seed_document(self, service: str) -> Callable[[], bytes] | None:
        """Return a function that returns the seed document of the epoch's source as JSON; None for a snapshot."""
        if self.sources[service] != self.task.sources[service]:
            return None
        return partial(self.task.seed_document, service)

    def switch_epoch(self, manifest: Manifest, progress: Progress, journal: Journal) -> None:
        """Continue at the start of another epoch."""
        self.journal.close()
        self.epoch, self.sources, self.journal = manifest.epoch, manifest.sources, journal
        self.progress.touched |= progress.touched
        progress.touched = self.progress.touched
        self.progress = progress

    def last_observation(self) -> Observation:
        """Return the last step's observation, or that of the reset before the first step."""
        last = self.progress.last_step
        return self.first_observation() if last is None else last.observation

    def first_observation(self) -> CompanyOSResetObservation:
        """Return the observation of the reset."""
        instance = self.task.instance
        return CompanyOSResetObservation(
            brief=instance.brief,
            company=instance.company_name,
            acting_as=instance.acting_as,
            now=self.task.instance.started_at,
            steps_left=self.task.instance.max_steps,
            reward=0.0,
        )

    def state(self) -> CompanyOSState:
        """Return the state for the trainer, cached until the next call."""
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
                    "return": self.progress.ledger.return_,
                    "now": self.now,
                    "max_steps": self.task.instance.max_steps,
                    "epoch": self.epoch,
                    "version": VERSION,
                    "task_id": self.published and self.published.id,
                    "task_set": self.published and self.published.version,
                    "token": self.token,
                }
            )
        return self._state
