"""An episode in a few words, for whoever looks: its trainer, or its own agent."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, Field

from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.reward import StepKind


class Format(StrEnum):
    """Format of a rendered episode."""

    JSON = "json"
    TEXT = "text"
    ANSI = "ansi"
    HTML = "html"
    PNG = "png"


class RenderedStep(BaseModel):
    """One step in a few words."""

    step: int
    now: datetime
    tool: str
    outcome: str
    reward: float | None


class RenderedCall(BaseModel):
    """The last step in full: what was asked, and what came back."""

    tool: str
    arguments: dict[str, Any]
    result: Any
    error: str | None


class RenderedEpisode(BaseModel):
    """An episode in a few words; what is null is the trainer's to know, or not there yet."""

    episode_id: str
    company: str
    acting_as: str
    brief: str
    now: datetime
    steps_left: int
    done: bool
    outcome: str | None = Field(description="How it ended.")
    total: float | None = Field(description="The return so far.")
    scenario: str | None
    seed: int | None
    chaos: int | None
    steps: list[RenderedStep]
    last: RenderedCall | None


def describe_episode(episode: Episode, *, with_rewards: bool = True) -> RenderedEpisode:
    """Return the episode as it stands; without rewards nothing in it is hidden from the agent."""
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


def _visible_outcome(note: str, *, with_rewards: bool) -> str:
    """Return the result of a step; agents are not shown whether an outage was injected."""
    return StepKind.PROBLEM if note == StepKind.PLANNED_FAULT and not with_rewards else note
