"""The viewer's documents: a run with its episodes, and one episode with every step.

They are JSON, versioned by `format`. A page of `server_page(title, static=, source=)` loads them: `source` is
`{"run": URL}` or `{"episode": URL, "events": URL}`. For a running episode (`outcome` is null), the page opens an
`EventSource` at `events` with `after=N`. Its events:

- `step`: a `Step`, added or replaced by number; the event `id` is the number.
- `episode`: changed fields of the `EpisodeDocument`.
- `end`: the same with the outcome; closes the stream.
- `again`: empty; reload the page, for example after a restore.

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
    """Result of a step."""

    CARRIED_OUT = "carried_out"
    PROBLEM = "problem"
    """Rejected by a service or the company's rules: the caller's fault."""

    INVALID_CALL = "invalid_call"
    """Unknown tool or invalid arguments."""

    PLANNED_FAULT = "planned_fault"
    """Rejected because of an injected outage."""


class ColumnChange(_Part):
    """One column of a row before and after; null also if the row did not exist."""

    column: str
    before: Any
    after: Any


class RowChange(_Part):
    """One changed row: every column of an added or deleted row, the changed columns of an updated one."""

    service: str
    table: str
    key: str
    label: str | None = Field(None, description="Label of the row: its title, name or text.")
    kind: Literal["added", "changed", "deleted"]
    actor: str = Field(description="Author of the change: `agent`, or `clock` for scheduled events.")
    caused_by: int | None = Field(None, description="The step that caused the change.")
    at: datetime = Field(description="Simulated time.")
    columns: list[ColumnChange]
    same_columns: int = Field(0, ge=0, description="Number of unchanged columns.")


class RewardPart(_Part):
    """Reward of one part; the parts of a step sum to its reward."""

    part: str
    paid: float


class Turned(_Part):
    """A check whose result changed with the step."""

    id: str
    passed: bool


class Step(_Part):
    """One step: call, response, reward and changes."""

    number: int = Field(ge=1)
    tool: str
    service: str | None = Field(None, description="Null for the episode's own tools and unknown services.")
    arguments: Any
    result: Any = None
    error: dict[str, Any] | None = Field(None, description="Error of the environment.")
    kind: StepKind
    status: int | None = Field(None, description="HTTP status of the service's response.")
    problem: str | None = Field(None, description="Problem code of the service's response.")
    fault: str | None = Field(None, description="The injected fault, even if it rejected nothing.")
    milliseconds: float | None = Field(None, ge=0, description="Wall-clock time, if measured.")
    reward: float
    done: bool = False
    now: datetime = Field(description="Simulated time after the step.")
    changes: list[RowChange] = Field(default_factory=list)
    parts: list[RewardPart] | None = Field(None, description="The reward by part, if known.")
    turned: list[Turned] = Field(default_factory=list)


class EpisodeFacts(_Part):
    """Summary of one episode for the list of a run. Fields missing in a lone trajectory are null."""

    name: str = Field(description="Name of the episode in links; unique in its run.")
    scenario: str | None = None
    seed: int | None = None
    chaos: int | None = None
    policy: str | None = None
    task_id: str | None = None
    outcome: Outcome | None = Field(None, description="Null while the episode is live.")
    success: bool | None = None
    return_: float = Field(0.0, alias="return")
    steps: int = 0
    failed: list[str] = Field(default_factory=list, description="The failed checks.")
    trouble: str | None = None
    tokens: int | None = Field(None, ge=0, description="Prompt and completion tokens, if the endpoint reported them.")
    cost: float | None = Field(None, description="Cost in the currency of the prices; null without prices.")
    document: str | None = Field(None, description="URL of its EpisodeDocument; null if the page embeds it.")
    judged: str | None = Field(None, description="URL of its Judged document, fetched when the episode is shown.")
    events: str | None = Field(None, description="URL of the event stream of further steps while the episode is live.")
    screenshots: str | None = Field(None, description="URL of the list of its screenshots, with modality `screenshot`.")


class RunDocument(_Part):
    """A run: its episodes, and the files that could not be read."""

    format: Literal["companyos-view/1"] = FORMAT
    title: str
    episodes: list[EpisodeFacts]
    faults: list[str] = Field(default_factory=list, description="File, line and reason.")


class JudgedStep(_Part):
    """Rescoring of one step."""

    number: int
    parts: list[RewardPart] | None = None
    turned: list[Turned] = Field(default_factory=list)


class Judged(_Part):
    """Current verdict on stored evidence, and the steps that changed each check.

    `fault` is the reason for a missing verdict.
    """

    verdict: EpisodeVerdict | None = None
    steps: list[JudgedStep] = Field(default_factory=list)
    fault: str | None = None


class Message(_Part):
    """One message of an episode played by a model, without tool results."""

    role: str = Field(description="`model`, `system`, `user`, or `note` for messages of the runner.")
    text: str
    thought: str | None = Field(None, description="Reasoning of the model, if the endpoint returns it.")
    step: int | None = Field(None, description="First step of the message; null without tool calls.")
    calls: int = Field(0, ge=0, description="Number of tool calls.")
    tokens: float | None = Field(None, description="Tokens of the message, if reported by the endpoint.")
    seconds: float | None = None


class Cause(_Part):
    """A failed check that is not a consequence of another one, and its related steps."""

    check: str
    label: str | None = Field(None, description="Label of the row, if a step changed it.")
    steps: list[int] = Field(
        description="The step that decided it, and steps that changed its row or the column in question, or else "
        "rejected calls that name the row; the last ones if there are many."
    )
    more: int = Field(0, ge=0, description="Number of earlier steps that are left out.")


class Explanation(_Part):
    """Explanation of a failed episode."""

    ended: str = Field(description="How the episode ended.")
    causes: list[Cause] = Field(description="The primary failure first.")
    consequences: list[str] = Field(description="Failed checks that follow from the causes.")
    policies: list[int] = Field(description="Steps that showed the agent a policy.")


class EpisodeDocument(_Part):
    """All data that the viewer shows of one episode."""

    format: Literal["companyos-view/1"] = FORMAT
    facts: EpisodeFacts
    company: str | None = None
    acting_as: str | None = None
    brief: str | None = Field(None, description="Null if the run did not store it.")
    started_at: datetime | None = None
    max_steps: int | None = None
    steps: list[Step]
    verdict: EpisodeVerdict | None = Field(None, description="Recorded verdict of the rubric.")
    judged: Judged | None = Field(None, description="Verdict of rescoring; null without rescoring.")
    why: Explanation | None = Field(None, description="Null while the episode is live, and after a success.")
    injections: list[InjectionInfo] = Field(default_factory=list)
    finish: dict[str, Any] | None = Field(None, description="Declaration of the agent.")
    usage: AgentUsage | None = None
    messages: list[Message] = Field(default_factory=list, description="Messages of the model and to it, if stored.")
    faults: list[str] = Field(default_factory=list, description="File, line and reason.")
