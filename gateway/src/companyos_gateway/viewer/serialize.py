"""Conversion of a journal to the viewer's document, with changed rows and the parts of each reward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from companyos.contract import RewardScale, Shaping
from companyos.viewer import (
    EpisodeDocument,
    RewardPart,
    Step,
    Trajectory,
    TrajectoryLine,
    Turned,
    episode_document,
    with_explanation,
)
from companyos_gateway.engine.journal import CompletedStep, Entry
from companyos_gateway.engine.progress import Progress, replay
from companyos_gateway.engine.reward import DAMAGE_COST, MAX_DAMAGE, REWARD_BOUND, LedgerBalance
from companyos_gateway.engine.task_cache import Task
from companyos_gateway.viewer.episode_source import EpisodeSource
from companyos_gateway.viewer.journal_tail import JournalTail


class StepSerializer:
    """Serializes the steps of an episode in order, with the parts of each reward and the checks that changed.

    It replays the journal, and evaluates the rubric again after each step that was judged.
    """

    def __init__(self, source: EpisodeSource, task: Task) -> None:
        self._source = source
        self._task = task
        self._progress = Progress.start(task, source.options)
        self._passed: dict[str, bool] = {}
        self._passed = self._judge()
        self._last_seq: Counter[str] = Counter()

    def steps(self, entries: Iterable[Entry]) -> Iterator[Step]:
        """Yield the next steps in the viewer's format."""
        for entry in entries:
            before = self._progress.ledger.balance
            replay(self._progress, self._task, [entry])
            if entry.taken is not None:
                yield self._step(entry.taken, before)

    def _step(self, completed: CompletedStep, before: LedgerBalance) -> Step:
        source, options = self._source, self._source.options
        parts = reward_parts(
            completed.reward, before, completed.balance, shaping=options.shaping, scale=options.reward_scale
        )
        step = episode_document(
            source.facts(source.id),
            Trajectory((_trajectory_line(completed, source.times.milliseconds(completed.step)),)),
            evidence=self._evidence(completed),
        ).steps[0]
        return step.model_copy(update={"parts": parts, "turned": self._turned() if completed.is_judged else []})

    def _turned(self) -> list[Turned]:
        """Return the checks whose result the last step changed."""
        before, self._passed = self._passed, self._judge()
        return [
            Turned(id=name, passed=passed)
            for name, passed in self._passed.items()
            if before.get(name, passed) is not passed
        ]

    def _judge(self) -> dict[str, bool]:
        verdict = self._progress.find_verdict(self._task)
        return self._passed if verdict is None else {check.id: check.passed for check in verdict.checks}

    def _evidence(self, completed: CompletedStep) -> dict[str, object]:
        """Return the new changes and audits of a step in the format of stored evidence."""
        audits: dict[str, list[object]] = {}
        changes: dict[str, list[object]] = {}
        for service, report in completed.reports:
            for change in report.changes:
                if change.seq > self._last_seq[service]:
                    self._last_seq[service] = change.seq
                    changes.setdefault(service, []).append({**change.model_dump(mode="json"), "step": completed.step})
            if report.audit is not None:
                audits.setdefault(service, []).append(report.audit.model_dump(mode="json"))
        return {"initial": dict.fromkeys(self._source.services), "audits": audits, "changes": changes}


def serialize_episode(source: EpisodeSource, task: Task, name: str) -> EpisodeDocument:
    """Return the whole document of an episode of a task. Raises UnusableFilesError."""
    with JournalTail(source.journal) as journal:
        steps = list(StepSerializer(source, task).steps(journal.read_new_entries()))
    missing_steps = source.step - (steps[-1].number if steps else 0)
    document = EpisodeDocument(
        facts=source.facts(name),
        company=source.company,
        acting_as=source.acting_as,
        brief=source.brief,
        started_at=source.started_at,
        max_steps=source.max_steps,
        steps=steps,
        verdict=source.verdict,
        injections=[injection.info() for injection in source.injections],
        finish=None if source.finish is None else source.finish.model_dump(mode="json"),
        faults=[f"The journal was deleted: {missing_steps} steps cannot be shown."] if missing_steps > 0 else [],
    )
    return with_explanation(document)


def _trajectory_line(completed: CompletedStep, milliseconds: float | None) -> TrajectoryLine:
    return TrajectoryLine(
        step=completed.step,
        tool=completed.tool,
        arguments=completed.arguments,
        result=completed.result,
        error=None if completed.error is None else completed.error.model_dump(mode="json"),
        reward=completed.reward,
        done=completed.end is not None,
        now=completed.now,
        milliseconds=milliseconds,
    )


_REWARD_DIGITS = 6
_ROUNDING_ERROR = 1e-5
"""Maximum remainder of a reward that is due to rounding."""


def reward_parts(
    reward: float, before: LedgerBalance, after: LedgerBalance, *, shaping: Shaping, scale: RewardScale
) -> list[RewardPart]:
    """Return the parts of a reward, which sum to it. The remainder after milestones, costs and damage is the `end`."""
    if shaping is Shaping.NONE:
        return [RewardPart(part="end", paid=reward)] if reward else []
    unit = 1 / REWARD_BOUND if scale is RewardScale.UNIT else 1.0
    is_rejected = after.rejections > before.rejections
    paid = {
        "milestones": after.potential - before.potential,
        "rejection and cost of the step" if is_rejected else "cost of the step": before.costs - after.costs,
        "damage": _damage(before) - _damage(after),
    }
    parts = {part: round(value * unit, _REWARD_DIGITS) for part, value in paid.items()}
    remainder = round(reward - sum(parts.values()), _REWARD_DIGITS)
    parts["end"] = remainder if abs(remainder) > _ROUNDING_ERROR else 0.0
    return [RewardPart(part=part, paid=value) for part, value in parts.items() if value]


def _damage(balance: LedgerBalance) -> float:
    return min(MAX_DAMAGE, DAMAGE_COST * len(balance.damaged))
