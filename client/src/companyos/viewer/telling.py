"""The pure part: a trajectory, its evidence and its record become the viewer's document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from companyos.contract import EpisodeRecord
from companyos.judging import UnfitEvidence
from companyos.viewer.document import EpisodeDocument, EpisodeFacts, Step, StepKind
from companyos.viewer.rows import ChangeLine, row_change
from companyos.viewer.trajectories import Trajectory, TrajectoryLine

_LEAST_REFUSAL = 400


class AuditLine(BaseModel):
    """One call as the service understood it."""

    model_config = ConfigDict(extra="ignore")

    step: int
    status: int
    code: str | None
    planned: str | None


_AUDITS = TypeAdapter(dict[str, list[AuditLine]])
_CHANGES = TypeAdapter(dict[str, list[ChangeLine]])


def episode_facts(record: EpisodeRecord, name: str) -> EpisodeFacts:
    """Return the line of the list that a record becomes."""
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
    )


def trajectory_facts(trajectory: Trajectory, name: str) -> EpisodeFacts:
    """Return what a trajectory tells of its episode by itself."""
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
    """Return the document of an episode; without evidence it has neither row-level changes nor planned faults.

    Raises UnfitEvidence for evidence that is damaged.
    """
    stored = evidence or {}
    audits, changes = _read(_AUDITS, stored, "audits"), _read(_CHANGES, stored, "changes")
    services = sorted({*stored.get("initial", ()), *audits, *changes})
    try:
        return EpisodeDocument(
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
    except ValidationError as misfit:
        raise UnfitEvidence(_first(misfit)) from misfit


def _steps(
    trajectory: Trajectory,
    services: list[str],
    audits: Mapping[str, list[AuditLine]],
    changes: Mapping[str, list[ChangeLine]],
) -> Iterator[Step]:
    calls = {line.step: (name, line) for name, lines in audits.items() for line in lines}
    written: dict[int, list[tuple[str, ChangeLine]]] = {}
    for name in services:
        for change in changes.get(name, ()):
            written.setdefault(change.step, []).append((name, change))
    for line in trajectory.lines:
        service, audit = calls.get(line.step, (None, None))
        refusal = _refusal(line.result)
        status, problem = refusal if refusal is not None else (None, None)
        if audit is not None:
            status, problem = audit.status, audit.code or problem
        yield Step(
            number=line.step,
            tool=line.tool,
            service=service or _named_service(line.tool, services),
            arguments=line.arguments,
            result=line.result,
            error=line.error,
            kind=_kind(line, is_refused=refusal is not None, audit=audit),
            status=status,
            problem=problem,
            fault=audit.planned if audit is not None else None,
            milliseconds=line.milliseconds,
            reward=line.reward,
            done=line.done,
            now=line.now,
            changes=[row_change(name, change) for name, change in written.get(line.step, ())],
        )


def _kind(line: TrajectoryLine, *, is_refused: bool, audit: AuditLine | None) -> StepKind:
    if line.error is not None:
        return StepKind.MISFIT
    if not is_refused:
        return StepKind.CARRIED_OUT
    return StepKind.PLANNED_FAULT if audit is not None and audit.planned is not None else StepKind.PROBLEM


def _refusal(result: Any) -> tuple[int, str] | None:
    """Return status and code where an answer is a Problem."""
    match result:
        case {"code": str(code), "title": str(), "status": int(status)} if status >= _LEAST_REFUSAL:
            return status, code
    return None


def _named_service(tool: str, services: list[str]) -> str | None:
    return next((name for name in services if tool.startswith(f"{name}_")), None)


def _state(stored: Mapping[str, Any]) -> Mapping[str, Any]:
    state = stored.get("state")
    return state if isinstance(state, Mapping) else {}


def _read(kind: TypeAdapter[Any], stored: Mapping[str, Any], part: str) -> Any:
    try:
        return kind.validate_python(stored.get(part, {}))
    except ValidationError as misfit:
        raise UnfitEvidence(f"{part}.{_first(misfit)}") from misfit


def _first(misfit: ValidationError) -> str:
    first = misfit.errors(include_input=False, include_url=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
