"""Builds the viewer's documents from records, trajectories and evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from companyos.contract import EpisodeRecord
from companyos.errors import first_validation_error
from companyos.policies.policy import parse_problem
from companyos.rescorers import InvalidEvidenceError
from companyos.viewer.document import ColumnChange, EpisodeDocument, EpisodeFacts, RowChange, Step, StepKind
from companyos.viewer.explanation import with_explanation
from companyos.viewer.trajectories import Trajectory, TrajectoryLine

_LABELS = ("title", "name", "text", "body")
_MAX_LABEL_CHARS = 80


class ChangeLine(BaseModel):
    """One row change as a service reports it: `before` is null for an insert, `after` for a delete."""

    model_config = ConfigDict(extra="ignore")

    step: int
    at: datetime
    actor: str
    cause: str | None
    table: str
    key: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


def row_change(service: str, change: ChangeLine) -> RowChange:
    """Return the change of the row, column by column."""
    before, after = change.before or {}, change.after or {}
    names = list({**before, **after})
    columns = [
        ColumnChange(column=name, before=before.get(name), after=after.get(name))
        for name in names
        if change.before is None or change.after is None or before.get(name) != after.get(name)
    ]
    return RowChange(
        service=service,
        table=change.table,
        key=change.key,
        label=_label(after or before),
        kind="added" if change.before is None else "deleted" if change.after is None else "changed",
        actor=change.actor,
        caused_by=_parse_step(change.cause),
        at=change.at,
        columns=columns,
        same_columns=len(names) - len(columns),
    )


def _label(row: dict[str, Any]) -> str | None:
    for name in _LABELS:
        if isinstance(row.get(name), str) and row[name].strip():
            text = " ".join(row[name].split())
            return text if len(text) <= _MAX_LABEL_CHARS else text[: _MAX_LABEL_CHARS - 1] + "…"
    return None


def _parse_step(cause: str | None) -> int | None:
    """Return the step of an op id, `episode:epoch:step`."""
    step = (cause or "").rpartition(":")[2]
    return int(step) if step.isascii() and step.isdigit() else None


class AuditLine(BaseModel):
    """One call in the audit log of a service."""

    model_config = ConfigDict(extra="ignore")

    step: int
    status: int
    code: str | None
    planned: str | None


_AUDITS = TypeAdapter(dict[str, list[AuditLine]])
_CHANGES = TypeAdapter(dict[str, list[ChangeLine]])


def episode_facts(record: EpisodeRecord, name: str) -> EpisodeFacts:
    """Return the list entry of a record."""
    usage = record.usage
    return EpisodeFacts(
        name=name,
        scenario=record.scenario,
        seed=record.seed,
        chaos=record.chaos,
        policy=record.policy,
        task_id=record.task_id,
        outcome=record.outcome,
        success=record.success,
        return_=record.return_,
        steps=record.steps,
        failed=list(record.verdict.failed) if record.verdict is not None else [],
        trouble=record.trouble,
        tokens=None if usage is None else (usage.prompt_tokens + usage.completion_tokens) or None,
        cost=None if usage is None else usage.cost,
    )


def trajectory_facts(trajectory: Trajectory, name: str) -> EpisodeFacts:
    """Return the list entry of a trajectory without a record."""
    rewards = [line.reward for line in trajectory.lines]
    return EpisodeFacts(name=name, return_=round(sum(rewards), 6), steps=len(rewards))


def episode_document(
    facts: EpisodeFacts,
    trajectory: Trajectory,
    *,
    record: EpisodeRecord | None = None,
    evidence: Mapping[str, Any] | None = None,
    faults: Sequence[str] = (),
) -> EpisodeDocument:
    """Return the document of an episode; without evidence it contains neither row changes nor injected faults.

    Raises InvalidEvidenceError for damaged evidence.
    """
    stored = evidence or {}
    audits, changes = _validate(_AUDITS, stored, "audits"), _validate(_CHANGES, stored, "changes")
    services = sorted({*stored.get("initial", ()), *audits, *changes})
    try:
        document = EpisodeDocument(
            facts=facts,
            company=stored.get("company"),
            acting_as=stored.get("acting_as"),
            brief=stored.get("brief"),
            started_at=stored.get("started_at"),
            max_steps=_state(stored).get("max_steps"),
            steps=list(_steps(trajectory, services, audits, changes)),
            verdict=record.verdict if record is not None else None,
            injections=list(record.injections or ()) if record is not None else [],
            finish=stored.get("finish"),
            usage=record.usage if record is not None else None,
            faults=[*faults, *trajectory.faults],
        )
    except ValidationError as error:
        raise InvalidEvidenceError(first_validation_error(error)) from error
    return with_explanation(document)


def _steps(
    trajectory: Trajectory,
    services: list[str],
    audits: Mapping[str, list[AuditLine]],
    changes: Mapping[str, list[ChangeLine]],
) -> Iterator[Step]:
    calls_by_step = {line.step: (name, line) for name, lines in audits.items() for line in lines}
    changes_by_step: dict[int, list[tuple[str, ChangeLine]]] = {}
    for name in services:
        for change in changes.get(name, ()):
            changes_by_step.setdefault(change.step, []).append((name, change))
    for line in trajectory.lines:
        service, audit = calls_by_step.get(line.step, (None, None))
        problem_fields = parse_problem(line.result)
        status, problem = problem_fields if problem_fields is not None else (None, None)
        if audit is not None:
            status, problem = audit.status, audit.code or problem
        fault = audit.planned if audit is not None else line.fault
        yield Step(
            number=line.step,
            tool=line.tool,
            service=service or _service_of_tool(line.tool, services),
            arguments=line.arguments,
            result=line.result,
            error=line.error,
            kind=_kind(line, is_refused=problem_fields is not None, fault=fault),
            status=status,
            problem=problem,
            fault=fault,
            milliseconds=line.milliseconds,
            reward=line.reward,
            done=line.done,
            now=line.now,
            changes=[row_change(name, change) for name, change in changes_by_step.get(line.step, ())],
        )


def _kind(line: TrajectoryLine, *, is_refused: bool, fault: str | None) -> StepKind:
    if line.error is not None:
        return StepKind.INVALID_CALL
    if not is_refused:
        return StepKind.CARRIED_OUT
    return StepKind.PLANNED_FAULT if fault is not None else StepKind.PROBLEM


def _service_of_tool(tool: str, services: list[str]) -> str | None:
    return next((name for name in services if tool.startswith(f"{name}_")), None)


def _state(stored: Mapping[str, Any]) -> Mapping[str, Any]:
    state = stored.get("state")
    return state if isinstance(state, Mapping) else {}


def _validate(kind: TypeAdapter[Any], stored: Mapping[str, Any], part: str) -> Any:
    try:
        return kind.validate_python(stored.get(part, {}))
    except ValidationError as error:
        raise InvalidEvidenceError(f"{part}.{first_validation_error(error)}") from error
