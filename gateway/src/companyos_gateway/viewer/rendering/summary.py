"""The summary of an episode for its trainer or its agent."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, Field

from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.reward import StepKind


class Format(StrEnum):
    """Formats of a rendered episode."""

    JSON = "json"
    TEXT = "text"
    ANSI = "ansi"
    HTML = "html"
    PNG = "png"


class RenderedStep(BaseModel):
    """A step without arguments and result."""

    step: int
    now: datetime
    tool: str
    outcome: str
    reward: float | None


class RenderedCall(BaseModel):
    """The last call with its arguments and result."""

    tool: str
    arguments: dict[str, Any]
    result: Any
    error: str | None


class RenderedEpisode(BaseModel):
    """The summary of an episode. Fields are null if not available yet or only visible to the trainer."""

    episode_id: str
    company: str
    acting_as: str
    brief: str
    now: datetime
    steps_left: int
    done: bool
    outcome: str | None = Field(description="Outcome of the episode.")
    total: float | None = Field(description="Sum of all rewards so far.")
    scenario: str | None
    seed: int | None
    chaos: int | None
    steps: list[RenderedStep]
    last: RenderedCall | None


def describe_episode(episode: Episode, *, with_rewards: bool = True) -> RenderedEpisode:
    """Return the summary of an episode; without rewards, it only has fields that the agent may see."""
    instance, key, progress = episode.task.instance, episode.task.key, episode.progress
    return RenderedEpisode(
        episode_id=episode.id,
        company=instance.company_name,
        acting_as=instance.acting_as,
        brief=instance.brief,
        now=episode.now,
        steps_left=episode.steps_left,
        done=episode.done,
        outcome=episode.outcome if with_rewards else None,
        total=progress.ledger.return_ if with_rewards else None,
        scenario=key.scenario if with_rewards else None,
        seed=key.seed if with_rewards else None,
        chaos=key.chaos if with_rewards else None,
        steps=[
            RenderedStep(
                step=line.step,
                now=line.now,
                tool=line.tool,
                outcome=_visible_outcome(line.outcome, with_rewards=with_rewards),
                reward=line.reward if with_rewards else None,
            )
            for line in progress.step_summaries
        ],
        last=_last_call(episode),
    )


def _last_call(episode: Episode) -> RenderedCall | None:
    last = episode.progress.last_step
    if last is None:
        return None
    observation = last.observation
    return RenderedCall(
        tool=last.tool_name,
        arguments=dict(last.arguments),
        result=observation.result,
        error=observation.error.message if observation.error else None,
    )


def _visible_outcome(outcome: str, *, with_rewards: bool) -> str:
    """Return the outcome of a step without revealing to the agent that a fault was injected."""
    return StepKind.PROBLEM if outcome == StepKind.PLANNED_FAULT and not with_rewards else outcome
