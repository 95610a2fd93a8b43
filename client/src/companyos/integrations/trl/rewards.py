"""Reward functions: the episode return, and metrics of the stages of learning for TRL's log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from companyos.contract import Outcome, RewardScale
from companyos.integrations.session import Ending
from companyos.integrations.trl.environment import CompanyOSEnvironment

RewardFunction = Callable[..., list[float | None]]
Message = Mapping[str, Any]

_UNKNOWN_TOOL_PENALTY = -1.0
"""Reward of a call of an unknown tool."""

_MAX_PENALTY = -8.0
_UNIT = 25.0


def reward_functions(scale: RewardScale) -> list[RewardFunction]:
    """Return the two reward functions on the given scale."""

    def episode_return(
        environments: Sequence[CompanyOSEnvironment],
        completions: Sequence[Sequence[Message]],
        log_metric: Callable[[str, float], None] | None = None,
        **_: Any,
    ) -> list[float | None]:
        """Return the return of each episode; None after an infrastructure error, which is excluded from training."""
        endings = [environment._end() for environment in environments]
        if log_metric is not None:
            unknown_counts = [
                unknown_calls(environment, made) for environment, made in zip(environments, completions, strict=True)
            ]
            for name, value in stages(endings, unknown_counts):
                log_metric(name, value)
        return [None if end.outcome is Outcome.INFRA_ERROR else end.return_ for end in endings]

    def unknown_tools(
        environments: Sequence[CompanyOSEnvironment], completions: Sequence[Sequence[Message]], **_: Any
    ) -> list[float | None]:
        """Return the cost of calls of unknown tools, which TRL rejects without calling the environment."""
        unit = 1.0 if scale is RewardScale.ORIGINAL else _UNIT
        unknown_counts = [
            unknown_calls(environment, made) for environment, made in zip(environments, completions, strict=True)
        ]
        return [max(_MAX_PENALTY, count * _UNKNOWN_TOOL_PENALTY) / unit for count in unknown_counts]

    return [episode_return, unknown_tools]


def unknown_calls(environment: CompanyOSEnvironment, completion: Sequence[Message]) -> int:
    """Return the number of calls of unknown tools in a completion."""
    names = [call["function"]["name"] for message in completion for call in message.get("tool_calls") or ()]
    offered = {tool.name for tool in environment._offered}
    return sum(name not in offered for name in names)


def stages(endings: Sequence[Ending], unknown_calls: Sequence[int]) -> list[tuple[str, float]]:
    """Return metrics of the stages of learning: invalid calls, milestones, completed workflows."""
    calls = sum(end.steps for end in endings) + sum(unknown_calls)
    invalid = sum(end.invalid for end in endings) + sum(unknown_calls)
    n = max(len(endings), 1)
    return [
        ("stages/invalid_calls", invalid / max(calls, 1)),
        ("stages/milestones", sum(end.milestones for end in endings) / n),
        ("stages/success", sum(end.success for end in endings) / n),
        ("stages/steps", sum(end.steps for end in endings) / n),
    ]
