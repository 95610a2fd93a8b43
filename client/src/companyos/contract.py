"""The contract between clients and the gateway: reset options, observations, state, outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from operator import not_
from typing import Any, Literal, Self

from companyos.openenv_preload import preload_openenv

preload_openenv()  # must come before imports of OpenEnv: users of the contract do not need its web page

from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation, ListToolsAction  # noqa: E402
from openenv.core.env_server.types import Observation, State  # noqa: E402
from pydantic import BaseModel, ConfigDict, Field, model_validator  # noqa: E402
from pydantic_core import PydanticCustomError  # noqa: E402

from companyos.schemas import (  # noqa: E402
    AgentUsage,
    CheckVerdict,
    EpisodeDiff,
    EpisodeVerdict,
    FaultRecovery,
    FeatureCount,
    Modality,
    RowDiff,
    ScenarioInfo,
    Scorecard,
    ScreenElement,
    Screenshot,
    Split,
    SplitInfo,
    TaskInfo,
    ToolSpec,
    VerdictLimits,
    Viewport,
    is_none,
    is_text_modality,
)

__all__ = [
    "AgentUsage",
    "CallToolAction",
    "CheckVerdict",
    "CompanyOSObservation",
    "CompanyOSResetObservation",
    "CompanyOSState",
    "Completion",
    "EpisodeDiff",
    "EpisodeRecord",
    "EpisodeVerdict",
    "FaultRecovery",
    "FeatureCount",
    "FinishOutcome",
    "InjectedState",
    "InjectionInfo",
    "ListToolsAction",
    "Modality",
    "OpenedEpisode",
    "Outcome",
    "ResetOptions",
    "RewardScale",
    "RowDiff",
    "ScenarioInfo",
    "Scorecard",
    "ScreenElement",
    "Screenshot",
    "Shaping",
    "SnapshotInfo",
    "Split",
    "SplitInfo",
    "TaskInfo",
    "ToolSpec",
    "Toolset",
    "VerdictLimits",
    "Viewport",
]

ENVIRONMENT = "companyos"
"""Name of the environment in the paths of OpenEnv's Task API."""

DEFAULT_SCENARIO = "vendor_onboarding"
DEFAULT_CHAOS = 1
MAX_CHAOS = 8
"""Allowed chaos levels; 0 to 4 are built in. The server rejects levels without a profile."""

MAX_SEED = 2**53 - 1
MAX_PREFETCH = 32
EPISODE_ID = r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$"
"""Pattern of the ids that clients may give to episodes."""
SNAPSHOT_ID = r"^[0-9a-f]{32}$"


class Completion(StrEnum):
    """End of an episode: the action that closes the task, right or wrong, or only `finish`."""

    AUTO = "auto"
    EXPLICIT = "explicit"


class Shaping(StrEnum):
    """Reward for milestones: paid and kept, paid and deducted at the end, or not paid."""

    MILESTONES = "milestones"
    POTENTIAL = "potential"
    NONE = "none"


class RewardScale(StrEnum):
    """Scale of rewards: the original, in [-25, 25] per step, or the original divided by 25."""

    ORIGINAL = "original"
    UNIT = "unit"


class Toolset(StrEnum):
    """Offered tools: all, or those of the scenario and its declared distractors."""

    ALL = "all"
    TASK = "task"


class Outcome(StrEnum):
    """Result of an episode. `infra_error` is a failure of the environment, never of the agent."""

    SUCCESS = "success"
    FAILED = "failed"
    OUT_OF_STEPS = "out_of_steps"
    CLOSED = "closed"
    INFRA_ERROR = "infra_error"


class FinishOutcome(StrEnum):
    """Outcome that the agent declares with `finish`."""

    DONE = "done"
    REFUSED = "refused"
    IMPOSSIBLE = "impossible"


SHIFT_PREFIX = "shift-"
"""Prefix of the names of shifts."""

SHIFT_SIZES: Mapping[str, int] = {"day": 3, "week": 6, "month": 12}
"""Number of cases by the name of a shift's size."""


class CompanySize(StrEnum):
    """Size of the company: about 50 people and 60 tickets, 490 and 2,000, or 4,400 and 19,000."""

    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"


def split_company_size(scenario: str) -> tuple[str, CompanySize]:
    """Return a scenario's name without the company size at its end, and the size.

    `shift-week-large` is `shift-week` in a large company. A name without a size means the small company.
    """
    name, _, size = scenario.rpartition("-")
    return (name, CompanySize(size)) if name and size in _NAMED_SIZES else (scenario, CompanySize.SMALL)


_NAMED_SIZES = frozenset({CompanySize.MEDIUM, CompanySize.LARGE})


class InjectedState(BaseModel):
    """Initial state of an episode instead of the first simulated morning: a fork of a snapshot."""

    model_config = ConfigDict(extra="forbid", strict=True)

    snapshot: str = Field(pattern=SNAPSHOT_ID)


class ResetOptions(BaseModel):
    """Options of a reset. Unknown fields are rejected."""

    model_config = ConfigDict(extra="forbid", strict=True)

    scenario: str = Field(
        DEFAULT_SCENARIO,
        max_length=256,
        description="A scenario or a shift (`shift-week`); `-medium` or `-large` at its end enlarges the company.",
    )
    seed: int | None = Field(None, ge=0, le=MAX_SEED, description="Drawn at random if missing; the state reports it.")
    chaos: int = Field(DEFAULT_CHAOS, ge=0, le=MAX_CHAOS, description="0 calm, 1 light, 2 moderate, 3 heavy, 4 storm.")
    chaos_overrides: dict[str, float] = Field(
        default_factory=dict,
        max_length=64,
        description="Rates in [0, 1] by kind, by `service.kind` for transport, and for shifts by feature.",
    )
    episode_id: str | None = Field(None, pattern=EPISODE_ID)
    completion: Completion = Field(Completion.AUTO, strict=False)
    shaping: Shaping = Field(Shaping.MILESTONES, strict=False)
    reward_scale: RewardScale = Field(RewardScale.ORIGINAL, strict=False)
    toolset: Toolset = Field(Toolset.ALL, strict=False)
    modality: Modality = Field(
        Modality.TEXT,
        strict=False,
        exclude_if=is_text_modality,
        description="`screenshot` adds a browser screenshot to each response, and tools to click and type.",
    )
    viewport: Viewport | None = Field(
        None, exclude_if=is_none, description="Size of the browser window; 1280 by 800 if missing."
    )
    split: Split | None = Field(None, strict=False, description="With `index`: a task of the task set.")
    index: int | None = Field(None, ge=0, le=MAX_SEED, description="Index of a task in its split, from 0.")
    task_id: str | None = Field(None, max_length=128, description="A task of the task set by its id.")
    prefetch: int = Field(
        0,
        ge=0,
        le=MAX_PREFETCH,
        exclude_if=not_,
        description="Plan so many of the following tasks in the background: the next seeds, or the next of the split.",
    )
    resume: str | None = Field(
        None,
        max_length=64,
        description="Token of a live episode to continue; the response is its last observation.",
    )
    injected_state: InjectedState | None = Field(None, description="Start as a fork of a snapshot.")

    @model_validator(mode="after")
    def _check_single_start(self) -> Self:
        provided = self.model_fields_set & {"resume", "injected_state"}
        if len(provided) == 2 or (provided and self.model_fields_set - provided - {"episode_id"}):
            raise PydanticCustomError(
                "conflicting-options", "resume and injected_state cannot be combined with other options"
            )
        if "resume" in provided and "episode_id" in self.model_fields_set:
            raise PydanticCustomError("conflicting-options", "resume cannot be combined with episode_id")
        return self

    @model_validator(mode="after")
    def _check_viewport(self) -> Self:
        if self.viewport is not None and self.modality is Modality.TEXT:
            raise PydanticCustomError("viewport-without-screenshots", "viewport requires modality screenshot")
        return self

    @model_validator(mode="after")
    def _check_prefetch(self) -> Self:
        if self.prefetch and self.seed is None and self.index is None:
            raise PydanticCustomError("prefetch-without-task", "prefetch requires a seed, or a split and an index")
        return self

    @model_validator(mode="after")
    def _check_task_reference(self) -> Self:
        if (self.split is None) != (self.index is None):
            raise PydanticCustomError("conflicting-task-options", "split and index must be set together")
        if self.split is not None and self.task_id is not None:
            raise PydanticCustomError("conflicting-task-options", "split and index cannot be combined with task_id")
        if self.split is not None or self.task_id is not None:
            provided = sorted(self.model_fields_set & {"scenario", "seed", "chaos", "chaos_overrides"})
            if provided:
                raise PydanticCustomError(
                    "conflicting-task-options", "a task cannot be combined with {given}", {"given": ", ".join(provided)}
                )
        return self


class CompanyOSResetObservation(Observation):
    """First observation of an episode: the brief and the simulated time."""

    brief: str = Field(description="The task description.")
    company: str = Field(description="The name of the company.")
    acting_as: str = Field(description="Employee id of the agent.")
    now: datetime = Field(description="Simulated time.")
    steps_left: int = Field(ge=0)
    screenshot: Screenshot | None = Field(
        None, exclude_if=is_none, description="The browser window, with modality `screenshot`."
    )


class CompanyOSObservation(CallToolObservation):
    """Result of a step: the service's payload or problem in `result`; `/mcp` returns it under `data` as well."""

    now: datetime = Field(description="Simulated time after the step.")
    steps_left: int = Field(ge=0)
    screenshot: Screenshot | None = Field(
        None, exclude_if=is_none, description="The browser window, with modality `screenshot`."
    )


class CompanyOSState(State):
    """State of an episode for trainers; never visible to the agent."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)

    scenario: str | None = None
    seed: int | None = None
    chaos: int | None = None
    done: bool = False
    outcome: Outcome | None = None
    success: bool | None = None
    return_: float = Field(0.0, alias="return")
    now: datetime | None = None
    max_steps: int | None = None
    epoch: int | None = None
    version: str | None = None
    task_id: str | None = Field(None, description="ID of the task, if the episode belongs to the task set.")
    task_set: str | None = Field(None, description="Version of the task set.")
    token: str | None = Field(None, repr=False, description="Episode token, for the agent and for `resume`.")
    kind: Literal["companyos"] = "companyos"


class InjectionInfo(BaseModel):
    """An injected problem of an episode, for analysis; never visible to the agent."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str
    mark: Literal["decisive", "friction"] = Field(description="Whether ignoring it fails the episode or costs reward.")
    entity: str = Field(description="The affected entity.")
    detail: dict[str, Any] = Field(default_factory=dict)


class EpisodeRecord(BaseModel):
    """One line of `episodes.jsonl`: the result of one episode."""

    model_config = ConfigDict(extra="forbid", serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)

    scenario: str
    seed: int | None = Field(description="Null only if the episode of a task could not be started.")
    chaos: int
    policy: str
    success: bool
    return_: float = Field(alias="return")
    steps: int
    outcome: Outcome
    digest: str = Field(description="SHA-256 over every (observation, reward, done) of the episode.")
    verdict: EpisodeVerdict | None = Field(None, description="Verdict of the rubric, if evidence was stored.")
    injections: list[InjectionInfo] | None = Field(None, description="Injected problems, if evidence was stored.")
    task_id: str | None = Field(None, description="Task id, if the episode belongs to the task set.")
    task_set: str | None = Field(None, description="Version of the task set.")
    trouble: str | None = Field(None, description="Error of the environment, the policy or its model.")
    usage: AgentUsage | None = Field(None, description="Usage of the policy, if it calls a model.")
    trial: int = Field(1, ge=1, description="Trial number among the episodes of the same task and policy.")
    chaos_overrides: dict[str, float] = Field(default_factory=dict, description="Rates by chaos kind or feature.")

    @property
    def scorecard(self) -> Scorecard | None:
        """The scorecard of the verdict, if there is one."""
        return None if self.verdict is None else self.verdict.scorecard


class SnapshotInfo(BaseModel):
    """A snapshot: the state of an episode after a step."""

    model_config = ConfigDict(extra="forbid", serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)

    id: str = Field(
        pattern=SNAPSHOT_ID, description="The first 32 hexadecimal characters of the SHA-256 of its content."
    )
    episode_id: str = Field(description="Episode of the snapshot.")
    scenario: str
    seed: int
    chaos: int
    step: int
    now: datetime = Field(description="Simulated time.")
    return_: float = Field(alias="return")
    done: bool


class OpenedEpisode(BaseModel):
    """A new episode that a client can continue with `resume` or by its id."""

    model_config = ConfigDict(extra="forbid")

    episode_id: str
    token: str = Field(repr=False)
