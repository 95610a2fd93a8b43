"""Progress of an episode, computed by folding its journal."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from companyos.contract import EpisodeVerdict, Outcome, ResetOptions
from companyos_gateway.chaos import FaultPlan
from companyos_gateway.engine.journal import CompletedStep, Entry, PageView, StepIntent
from companyos_gateway.engine.observations import StepObservation, build_observation
from companyos_gateway.engine.reward import RewardLedger
from companyos_gateway.engine.task_cache import Task
from companyos_gateway.evaluation import Evidence, FinishDeclaration, Standing, Verdict, row_views
from companyos_gateway.scenarios.rescoring import to_episode_verdict
from companyos_shared.streams import canonical_json
from companyos_shared.wire.context import Actor, Fault, FaultKind
from companyos_shared.wire.control import Report

CallKey = tuple[str, str, str]
"""Service, operation and entity of a call; planned faults count calls by this key."""

RETRY_AFTER = "retry_after_s"
"""Member that the gateway adds to the result of a temporary error."""

_RUBRIC_RAISED = "the rubric of %s raised an exception"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StepSummary:
    """Short description of one step for human readers."""

    step: int
    now: datetime
    tool: str
    outcome: str
    reward: float


@dataclass(frozen=True, slots=True)
class LastStep:
    """The last step, stored for repeated requests."""

    tool_name: str
    arguments: Mapping[str, object]
    observation: StepObservation

    def is_same(self, tool_name: str, arguments: Mapping[str, object]) -> bool:
        """Return whether the action equals that of the last step."""
        return canonical_json([tool_name, arguments]) == canonical_json([self.tool_name, self.arguments])


@dataclass(frozen=True, slots=True)
class StaleReadWindow:
    """Period in which reads of a service do not see a write and all later ones: the step of the write, and the end."""

    step: int
    until: datetime


@dataclass(slots=True)
class Progress:
    """Everything about an episode that steps change.

    `unchanged_sources` contains, by service, the source that is identical to the current database. A service that was
    written to has none until a snapshot is taken.
    """

    evidence: Evidence
    ledger: RewardLedger
    standing: Standing
    """As of the last step that could change it."""
    now: datetime
    next_due_at: dict[str, datetime | None]
    last_seq: Counter[str] = field(default_factory=Counter)
    written_step: Counter[str] = field(default_factory=Counter)
    """By service, the last step in which the agent is known to have changed its rows."""
    step: int = 0
    first_step: int = 0
    """The step after which the epoch started; earlier writes are contained in its sources."""
    changed_step: Counter[str] = field(default_factory=Counter)
    """By service, the last step in which any actor is known to have changed its rows."""
    outcome: Outcome | None = None
    finish: FinishDeclaration | None = None
    calls: Counter[CallKey] = field(default_factory=Counter)
    stale_reads: defaultdict[str, list[StaleReadWindow]] = field(default_factory=lambda: defaultdict(list))
    """By service, the current and past stale-read windows."""
    touched: set[str] = field(default_factory=set)
    unchanged_sources: dict[str, str] = field(default_factory=dict)
    step_summaries: list[StepSummary] = field(default_factory=list)
    last_step: LastStep | None = None
    page_views: int = 0
    """Counted page views of the agent."""

    @classmethod
    def start(cls, task: Task, options: ResetOptions) -> Progress:
        """Return the progress at the start of an episode of the task."""
        return cls(
            evidence=Evidence(task.initial),
            ledger=RewardLedger(
                options.shaping, options.reward_scale, task.first_standing.potential, task.first_standing.at_end
            ),
            standing=task.first_standing,
            now=task.instance.started_at,
            next_due_at=dict(task.next_due_at),
        )

    def touch(self, service: str, *, writes: bool) -> None:
        """Record that a call is about to be sent to a service."""
        self.touched.add(service)
        if writes:
            self.unchanged_sources.pop(service, None)

    def retain_sources(self, sources: Collection[str]) -> None:
        """Remove all `unchanged_sources` except the given ones."""
        self.unchanged_sources = {
            service: source for service, source in self.unchanged_sources.items() if source in sources
        }

    def count_call(self, call_key: CallKey) -> int:
        """Count one call, and return its number, from 1, among those with the same key."""
        self.calls[call_key] += 1
        return self.calls[call_key]

    def record(self, service: str, report: Report, response: Any = None) -> None:
        """Record the control data of a response, and the response itself if the agent receives it."""
        self.touched.add(service)
        self.evidence.record(service, report, response)
        self.next_due_at[service] = report.next_due_at
        if report.changes:
            self.last_seq[service] = max(self.last_seq[service], report.changes[-1].seq)
            written = (change.step for change in report.changes if change.actor is Actor.AGENT)
            self.written_step[service] = max(self.written_step[service], *written, 0)
            self.changed_step[service] = report.changes[-1].step

    def has_written(self, service: str) -> bool:
        """Return whether a service is known to have changed rows in this epoch, and so has a database of its own."""
        return self.changed_step[service] > self.first_step

    def may_have_changed(self, service: str) -> bool:
        """Return whether a service has changed rows since the task began, or was sent a call that may do so."""
        return service not in self.unchanged_sources or self.last_seq[service] > 0

    def add_stale_window(self, call_key: CallKey, nth: int, report: Report, faults: FaultPlan) -> None:
        """Record how long reads lag behind a write, if the report shows that the agent changed rows."""
        service, operation, target = call_key
        if report.planned is None and any(change.actor is Actor.AGENT for change in report.changes):
            minutes = faults.stale_minutes(service, operation, target, nth)
            if minutes:
                window = StaleReadWindow(self.step, self.now + timedelta(minutes=minutes))
                self.stale_reads[service].append(window)

    def stale_read_fault(self, service: str) -> Fault | None:
        """Return the fault of a stale read, which hides everything from the oldest hidden step on, or None."""
        hidden_steps = [window.step for window in self.stale_reads[service] if self.now < window.until]
        return Fault(kind=FaultKind.STALE_READ, hides_from_step=min(hidden_steps)) if hidden_steps else None

    def declare(self, finish: FinishDeclaration) -> None:
        """Record the declaration of the agent and its time."""
        self.finish = finish
        self.evidence.declared_at = self.now

    def judge(self, task: Task) -> None:
        """Update the standing from the current evidence."""
        self.standing = task.instance.rubric.standing(self.evidence)

    def find_verdict(self, task: Task) -> Verdict | None:
        """Return the verdict on the current state; None if the rubric raises an exception, which is logged."""
        try:
            return task.instance.rubric.judge(self.evidence, self.finish)
        except Exception:  # noqa: BLE001 - scenarios of other packages raise any
            _log.exception(_RUBRIC_RAISED, task.key)
            return None

    def find_episode_verdict(self, task: Task) -> EpisodeVerdict | None:
        """Return the verdict in the format of the API; None if the rubric raises an exception, which is logged."""
        try:
            verdict = task.instance.rubric.judge(self.evidence, self.finish)
            return to_episode_verdict(verdict, self.evidence, is_over=self.outcome is not None)
        except Exception:  # noqa: BLE001 - scenarios of other packages raise any
            _log.exception(_RUBRIC_RAISED, task.key)
            return None

    def complete_step(self, completed: CompletedStep, max_steps: int) -> StepObservation:
        """Record a completed step, and return its observation."""
        self.outcome = completed.end
        self.step_summaries.append(
            StepSummary(completed.step, completed.now, completed.tool, completed.note, completed.reward)
        )
        observation = build_observation(completed, max_steps)
        self.last_step = LastStep(completed.tool, completed.arguments, observation)
        return observation


def replay(progress: Progress, task: Task, entries: Iterable[Entry]) -> StepIntent | None:
    """Apply the entries of a journal; return the intent of a step that was not completed, if there is one."""
    pending_intent: StepIntent | None = None
    done: list[CompletedStep | PageView] = []
    for entry in entries:
        if entry.intent is not None:
            pending_intent = entry.intent
        if entry.taken is not None:
            pending_intent = None
            done.append(entry.taken)
        if entry.view is not None:
            done.append(entry.view)
    last_judged = max(
        (index for index, one in enumerate(done) if isinstance(one, CompletedStep) and one.is_judged), default=None
    )
    for index, one in enumerate(done):
        if isinstance(one, PageView):
            progress.evidence.add_view(one.step, one.shown)
            progress.page_views += one.is_counted
        else:
            _replay_step(progress, task, one)
        if index == last_judged:
            progress.judge(task)
    return pending_intent


def _service_response(task: Task, service: str, report: Report, result: Any) -> Any:
    """Return the response of a service, without what the gateway changed in the result of the step."""
    if report.audit is None or result is None:
        return None
    if report.audit.status < row_views.FIRST_ERROR_STATUS:
        return task.instance.drift.restore_response_fields(service, result)
    if isinstance(result, dict):
        return {name: value for name, value in result.items() if name != RETRY_AFTER}
    return result


def _replay_step(progress: Progress, task: Task, taken: CompletedStep) -> None:
    progress.step = taken.step
    progress.now = taken.now
    nth = 0 if taken.call_key is None else progress.count_call(taken.call_key)
    for service, report in taken.reports:
        progress.record(service, report, _service_response(task, service, report, taken.result))
        if taken.call_key is not None and report.audit is not None:
            progress.add_stale_window(taken.call_key, nth, report, task.instance.faults)
    if taken.finish is not None:
        progress.declare(taken.finish)
    progress.ledger.restore(taken.balance)
    progress.complete_step(taken, task.instance.max_steps)
