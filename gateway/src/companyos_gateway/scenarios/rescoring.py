"""Judging of stored evidence: the task is planned again and its rubric judges, without requests to services."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from companyos.contract import CheckVerdict, EpisodeVerdict, FeatureCount
from companyos.rescorers import InvalidEvidenceError
from companyos_gateway.evaluation import CheckResult, Evidence, FinishDeclaration, Verdict
from companyos_gateway.evaluation.scorecard import score_episode
from companyos_gateway.scenarios.api import Instance
from companyos_gateway.scenarios.catalogue import catalogue
from companyos_gateway.scenarios.shifts import find_scenario

_MAX_CACHED_PLANS = 8


class PlannedTask(BaseModel):
    """The task of an episode: the parameters from which it is planned again, and its source IDs by service."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    scenario: str
    seed: int
    chaos: int
    overrides: dict[str, float]
    sources: dict[str, str]


def to_episode_verdict(verdict: Verdict, evidence: Evidence, *, is_over: bool = True) -> EpisodeVerdict:
    """Return a verdict in the API's format, with a scorecard and all milestones if the episode is over."""
    return EpisodeVerdict(
        success=verdict.success,
        potential=verdict.potential + (verdict.at_end if is_over else 0.0),
        damage=verdict.damage,
        rejections=verdict.rejections,
        checks=tuple(_to_check_verdict(one, evidence) for one in verdict.checks),
        primary_failure=verdict.primary_failure,
        cases=dict(verdict.cases) or None,
        features={
            name: FeatureCount(tickets=tickets, solved=solved) for name, (tickets, solved) in verdict.features.items()
        }
        or None,
        scorecard=score_episode(evidence, verdict) if is_over else None,
    )


def _to_check_verdict(result: CheckResult, evidence: Evidence) -> CheckVerdict:
    mismatch = result.mismatch
    if mismatch is None:
        return CheckVerdict(id=result.id, passed=True)
    return CheckVerdict(
        id=result.id,
        passed=False,
        entity=mismatch.entity,
        expected=mismatch.expected,
        found=mismatch.found,
        step=mismatch.step,
        source=mismatch.source_id or None,
        known_at=evidence.last_shown(mismatch.source_id, before=mismatch.step),
        caused_by=result.caused_by,
    )


def rescore_evidence(stored: Mapping[str, Any], /) -> EpisodeVerdict:
    """Return the verdict of the current rubric on stored evidence; `is_over` is false before the end of an episode.

    Raises InvalidEvidenceError.
    """
    try:
        task = PlannedTask.model_validate(stored.get("task"))
        finish = stored.get("finish")
        declared = None if finish is None else FinishDeclaration.model_validate(finish)
        evidence = Evidence.from_json(stored)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise InvalidEvidenceError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise InvalidEvidenceError(f"invalid evidence: {type(error).__name__} {error}") from error
    verdict = _instance(task).rubric.judge(evidence, declared)
    return to_episode_verdict(verdict, evidence, is_over=stored.get("is_over", True))


def _instance(task: PlannedTask) -> Instance:
    """Plan the task again. Raises InvalidEvidenceError if it is no longer the task that was played."""
    try:
        instance = _plan_cached(task.scenario, task.seed, task.chaos, tuple(sorted(task.overrides.items())))
    except LookupError:
        raise InvalidEvidenceError(f"no scenario is named {task.scenario!r}") from None
    except ValueError as error:
        raise InvalidEvidenceError(str(error)) from error
    if instance.source_ids != task.sources:
        raise InvalidEvidenceError("the task was planned by another version: its seed documents are different now")
    return instance


@lru_cache(maxsize=_MAX_CACHED_PLANS)
def _plan_cached(scenario: str, seed: int, chaos: int, overrides: tuple[tuple[str, float], ...]) -> Instance:
    found = find_scenario(catalogue(), scenario)
    if found is None:
        raise LookupError(scenario)
    return found.plan(seed, chaos, dict(overrides))
