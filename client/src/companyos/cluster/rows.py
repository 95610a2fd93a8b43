"""What travels between the nodes: plans out, played episodes back, each as one text."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from companyos.contract import EpisodeRecord
from companyos.runner import EpisodePlan, PlayedEpisode, StepLine

PLAN = "plan"
PLAYED = "played"
"""The columns."""


def plan_text(number: int, plan: EpisodePlan) -> str:
    """Return a plan with its place in the run."""
    return json.dumps({"number": number, **asdict(plan)})


def read_plan(text: str) -> tuple[int, EpisodePlan]:
    """Return the place and the plan."""
    fields = json.loads(text)
    return fields.pop("number"), EpisodePlan(**fields)


def played_text(number: int, played: PlayedEpisode, evidence: dict[str, Any] | None, node: str) -> str:
    """Return an episode with all that is kept of it, and the node that played it."""
    return json.dumps(
        {
            "number": number,
            "node": node,
            "record": played.record.model_dump(mode="json"),
            "steps": [step.as_json() for step in played.steps],
            "episode_id": played.episode_id,
            "messages": list(played.messages),
            "evidence": evidence,
        },
        ensure_ascii=False,
    )


def refusal_text(number: int, refusal: Exception) -> str:
    """Return why an episode was not begun, which ends the run."""
    return json.dumps({"number": number, "refused": str(refusal), "kind": type(refusal).__name__})


def read_played(told: dict[str, Any], plan: EpisodePlan) -> PlayedEpisode:
    """Return the episode of what `played_text` told."""
    return PlayedEpisode(
        plan=plan,
        record=EpisodeRecord.model_validate(told["record"]),
        steps=tuple(StepLine(**step) for step in told["steps"]),
        episode_id=told["episode_id"],
        messages=tuple(told["messages"]),
    )
