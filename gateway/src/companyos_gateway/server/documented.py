"""The refusals of the plain HTTP routes as OpenAPI knows them."""

from __future__ import annotations

from typing import Any

from companyos_gateway.episode import errors
from companyos_shared.wire.problem import PROBLEM_MEDIA_TYPE, ProblemBody

_KINDS: tuple[type[errors.GatewayProblem], ...] = (
    errors.UnknownEpisode,
    errors.EpisodeExists,
    errors.EpisodeDone,
    errors.EpisodeClosed,
    errors.StepConflict,
    errors.InvalidReset,
    errors.UnknownScenario,
    errors.InvalidAction,
    errors.TooManyWaiting,
    errors.AtCapacity,
    errors.ServicesDown,
)


def _documented() -> dict[int | str, dict[str, Any]]:
    found: dict[int | str, dict[str, Any]] = {}
    for kind in _KINDS:
        entry = found.setdefault(
            kind.status,
            {"description": "", "content": {PROBLEM_MEDIA_TYPE: {"schema": ProblemBody.model_json_schema()}}},
        )
        separator = "; " if entry["description"] else ""
        entry["description"] += f"{separator}`{kind.code}`: {kind.title}"
    return found


DOCUMENTED_PROBLEMS = _documented()
