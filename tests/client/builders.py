"""Builders with defaults: the views that a policy receives, and the record of an episode."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from companyos.contract import EpisodeRecord, Outcome, ToolSpec
from companyos.policies import StepView, TaskView
from companyos_shared.streams import Stream

NOW = datetime(2026, 3, 2, 9, 15, tzinfo=UTC)


def a_step(*, result: Any = None, error: str | None = None, reward: float = -0.1, done: bool = False) -> StepView:
    """Return a step as a policy sees it."""
    return StepView(result=result, error=error, reward=reward, done=done, now=NOW, steps_left=50)


def a_task(*tools: ToolSpec, brief: str = "See OPS-1042 through.") -> TaskView:
    """Return a task as a policy sees it."""
    return TaskView(
        scenario="tiny",
        brief=brief,
        company="Tiny",
        acting_as="E-1",
        now=NOW,
        steps_left=50,
        tools=tools,
        stream=Stream("policy", "tests"),
    )


def a_record(*, success: bool = False, **changed: Any) -> EpisodeRecord:
    """Return the record of an episode, which failed by default."""
    return EpisodeRecord.model_validate(
        {
            "scenario": "tiny",
            "seed": 0,
            "chaos": 1,
            "policy": "p",
            "success": success,
            "return_": -5.0,
            "steps": 10,
            "outcome": Outcome.SUCCESS if success else Outcome.FAILED,
            "digest": "0" * 64,
            **changed,
        }
    )
