"""The viewer's documents: a run with its episodes, and one episode with every step.

They are JSON, versioned by `format`; docs/ui.md documents how a page loads them and
follows a running episode.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from companyos.contract import AgentUsage, EpisodeVerdict, InjectionInfo, Outcome

FORMAT: Literal["companyos-view/1"] = "companyos-view/1"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)


class StepKind(StrEnum):
    """What came of a step."""

    CARRIED_OUT = "carried_out"
    PROBLEM = "problem"
    """Refused by a service or the company's rules: the caller's fault."""

    INVALID_CALL = "misfit"
    """An unknown tool, or arguments that do not fit."""

    PLANNED_FAULT = "planned_fault"
    """Refused because the world had planned an outage there."""


class ColumnChange(_Part):
    """One column of a row, before and after; null is also what is said where there was no row."""

    column: str
    before: Any
    after: Any


class RowChange(_Part):
    """One row written: of a row that came or went every column, of one that changed those that differ."""

    service: str
    table: str
    key: str
    label: str | None = Field(None, description="What people call the row: its title, name or text.")
    kind: Literal["added", "changed", "deleted"]
    actor: str = Field(description="Who wrote it: `agent`, or `clock` where time brought it.")
    caused_by: int | None = Field(None, description="The step whose call stands behind it.")
    at: datetime = Field(description="Simulated time.")
    columns: list[ColumnChange]
    same_columns: int = Field(0, ge=0, description="How many columns of the row did not change.")


class RewardPart(_Part):
    """What one part of a reward paid; the parts of a step sum to its reward."""

    part: str
    paid: float


class Turned(_Part):
    """A check that passes after the step and did not before, or the other way round."""

    id: str
    passed: bool


class Step(_Part):
    """One step: what was asked, what came back, what it paid and what it changed."""

    number: int = Field(ge=1)
    tool: str
    service: str | None = Field(
        None, description="Null for the episode's own tools, and where no service is called that."
    )
    arguments: Any
    result: Any = None
    error: dict[str, Any] | None = Field(None, description="The environment's own refusal.")
    kind: StepKind
    status: int | None = Field(None, description="The HTTP status with which the service answered.")
    problem: str | None = Field(None, description="The code of the service's refusal.")
    fault: str | None = Field(None, description="The planned fault that struck, also one that refused nothing.")
    milliseconds: float | None = Field(None, ge=0, description="Wall-clock time, where somebody took it.")
    reward: float
    done: bool = False
    now: datetime = Field(description="Simulated time after the step.")
    changes: list[RowChange] = Field(default_factory=list)
    parts: list[RewardPart] | None = Field(None, description="The reward by part, where it is known.")
    turned: list[Turned] = Field(default_factory=list)


class EpisodeFacts(_Part):
    """One episode in a line of the run's list. What a lone trajectory does not tell is null."""

    name: str = Field(description="What it is called in links; unique in its run.")
    scenario: str | None = None
    seed: int | None = None
    chaos: int | None = None
    policy: str | None = None
    task_id: str | None = None
    outcome: Outcome | None = Field(None, description="Null while it is going on.")
    success: bool | None = None
    return_: float = Field(0.0, alias="return")
    steps: int = 0
    failed: list[str] = Field(default_factory=list, description="The checks that did not pass.")
    trouble: str | None = None
    document: str | None = Field(None, description="Where its EpisodeDocument is; null where the page has it within.")
    judged: str | None = Field(None, description="Where a Judged of it is, fetched once the episode is shown.")
    events: str | None = Field(None, description="Where its further steps are told while it is going on.")


class RunDocument(_Part):
    """A run: its episodes, and what of its files could not be read."""

    format: Literal["companyos-view/1"] = FORMAT
    title: str
    episodes: list[EpisodeFacts]
    faults: list[str] = Field(default_factory=list, description="Which file, which line, and why.")


class JudgedStep(_Part):
    """What judging up to a step adds to it."""

    number: int
    parts: list[RewardPart] | None = None
    turned: list[Turned] = Field(default_factory=list)


class Reason(_Part):
    """One fact behind a check: what its evidence says, or what a step wrote."""

    step: int | None = Field(None, description="The step that the fact is of; null where it is of none.")
    text: str


class CheckReasons(_Part):
    """Why a check stands as it does."""

    id: str
    reasons: list[Reason]


class Judged(_Part):
    """The verdict of now on stored evidence, and which step turned which check. `fault` says why there is none."""

    verdict: EpisodeVerdict | None = None
    steps: list[JudgedStep] = Field(default_factory=list)
    reasons: list[CheckReasons] = Field(default_factory=list, description="Of every check of the verdict, in order.")
    fault: str | None = None


class Said(_Part):
    """One message of an episode that a model played, but for what tools answered it."""

    role: str = Field(description="`model`, `system`, `user`, or `note` for what the runner has to say.")
    text: str
    thought: str | None = Field(None, description="What the model thought before it spoke, where its endpoint tells.")
    step: int | None = Field(None, description="The first step that the message made; null where it made none.")
    calls: int = Field(0, ge=0, description="How many calls it made.")
    tokens: float | None = Field(None, description="Tokens of the message, where its endpoint told them.")
    seconds: float | None = None


class EpisodeDocument(_Part):
    """Everything that the viewer shows of one episode."""

    format: Literal["companyos-view/1"] = FORMAT
    facts: EpisodeFacts
    company: str | None = None
    acting_as: str | None = None
    brief: str | None = Field(None, description="Null where the run did not keep it.")
    started_at: datetime | None = None
    max_steps: int | None = None
    steps: list[Step]
    verdict: EpisodeVerdict | None = Field(None, description="What the rubric said when the episode was judged.")
    judged: Judged | None = Field(None, description="What it says now; null where nobody asked.")
    injections: list[InjectionInfo] = Field(default_factory=list)
    reasons: list[CheckReasons] = Field(
        default_factory=list, description="Why the checks of `verdict` stand as they do, where that is known by now."
    )
    finish: dict[str, Any] | None = Field(None, description="What the agent declared.")
    usage: AgentUsage | None = None
    said: list[Said] = Field(default_factory=list, description="What the model said and was told, where it was kept.")
    faults: list[str] = Field(default_factory=list, description="Which file, which line, and why.")
