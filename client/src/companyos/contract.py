"""The contract between clients and the gateway: reset options, observations, state, outcomes."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, Self

from companyos.openenv_preload import preload_openenv

preload_openenv()  # before anything of OpenEnv's: nobody who keeps the contract shows OpenEnv's own web page

from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation, ListToolsAction  # noqa: E402
from openenv.core.env_server.types import Observation, State  # noqa: E402
from pydantic import BaseModel, ConfigDict, Field, model_validator  # noqa: E402
from pydantic_core import PydanticCustomError  # noqa: E402

from companyos.schemas import (  # noqa: E402  # noqa: E402  # noqa: E402  # noqa: E402
    AgentUsage,
    CheckVerdict,
    EpisodeDiff,
    EpisodeVerdict,
    Modality,
    RowDiff,
    ScenarioInfo,
    ScreenElement,
    Screenshot,
    Split,
    SplitInfo,
    TaskInfo,
    ToolSpec,
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
    "FinishOutcome",
    "InjectedState",
    "InjectionInfo",
    "ListToolsAction",
    "Modality",
    "OpenedEpisode",
    "Outcome",
    "ReasonCode",
    "ResetOptions",
    "RewardScale",
    "RowDiff",
    "ScenarioInfo",
    "ScreenElement",
    "Screenshot",
    "Shaping",
    "SnapshotInfo",
    "Split",
    "SplitInfo",
    "TaskInfo",
    "ToolSpec",
    "Toolset",
    "Viewport",
]

ENVIRONMENT = "companyos"
"""What the environment is called in the paths of OpenEnv's Task API."""

DEFAULT_SCENARIO = "vendor_onboarding"
DEFAULT_CHAOS = 1
MAX_CHAOS = 8
"""Levels that a house may have; 0 to 4 come with it, and it refuses one that it does not have."""

MAX_SEED = 2**53 - 1
SNAPSHOT_ID = r"^[0-9a-f]{32}$"


class Completion(StrEnum):
    """When an episode ends: as soon as the goal holds, or only with `finish`."""

    AUTO = "auto"
    EXPLICIT = "explicit"


class Shaping(StrEnum):
    """How milestones are paid: kept, paid back at the end of a failed episode, or not at all."""

    MILESTONES = "milestones"
    POTENTIAL = "potential"
    NONE = "none"


class RewardScale(StrEnum):
    """The original's scale, in [-25, 25] per step, or that divided by 25."""

    ORIGINAL = "original"
    UNIT = "unit"


class Toolset(StrEnum):
    """Every tool, or only those of the scenario with its declared distractors."""

    ALL = "all"
    TASK = "task"


class Outcome(StrEnum):
    """How an episode ended. `infra_error` is a bug of the house and never the agent's fault."""

    SUCCESS = "success"
    FAILED = "failed"
    OUT_OF_STEPS = "out_of_steps"
    CLOSED = "closed"
    INFRA_ERROR = "infra_error"


class FinishOutcome(StrEnum):
    """What the agent declares with `finish`."""

    DONE = "done"
    REFUSED = "refused"
    IMPOSSIBLE = "impossible"


class ReasonCode(StrEnum):
    """Why a piece of work was closed, cancelled, refused or found impossible."""

    COMPLETED = "completed"
    DUPLICATE = "duplicate"
    REQUIREMENT_NOT_MET = "requirement_not_met"
    POLICY_VIOLATION = "policy_violation"
    NOT_ENTITLED = "not_entitled"
    FRAUD_SUSPECTED = "fraud_suspected"
    NO_APPROVER = "no_approver"
    DATA_UNAVAILABLE = "data_unavailable"
    WITHDRAWN = "withdrawn"


class InjectedState(BaseModel):
    """Where an episode begins instead of a task's first morning: a snapshot, which is forked."""

    model_config = ConfigDict(extra="forbid", strict=True)

    snapshot: str = Field(pattern=SNAPSHOT_ID)


class ResetOptions(BaseModel):
    """What a reset may ask for. Unknown names are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)

    scenario: str = Field(DEFAULT_SCENARIO, max_length=64)
    seed: int | None = Field(None, ge=0, le=MAX_SEED, description="Drawn and reported in the state when missing.")
    chaos: int = Field(DEFAULT_CHAOS, ge=0, le=MAX_CHAOS, description="0 calm, 1 light, 2 moderate, 3 heavy, 4 storm.")
    chaos_overrides: dict[str, float] = Field(
        default_factory=dict, max_length=64, description="Rates in [0, 1] by kind, or by `service.kind` for transport."
    )
    episode_id: str | None = Field(None, pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$")
    completion: Completion = Field(Completion.AUTO, strict=False)
    shaping: Shaping = Field(Shaping.MILESTONES, strict=False)
    reward_scale: RewardScale = Field(RewardScale.ORIGINAL, strict=False)
    toolset: Toolset = Field(Toolset.ALL, strict=False)
    modality: Modality = Field(
        Modality.TEXT,
        strict=False,
        exclude_if=is_text_modality,
        description="`screenshot`: a browser's window comes with each answer, and tools to click and type in it.",
    )
    viewport: Viewport | None = Field(
        None, exclude_if=is_none, description="The size of that window; 1280 by 800 when missing."
    )
    split: Split | None = Field(None, strict=False, description="With `index`: a task of the task set.")
    index: int | None = Field(None, ge=0, le=MAX_SEED, description="The number of a task in its split, from 0.")
    task_id: str | None = Field(None, max_length=128, description="A task of the task set by its id.")
    resume: str | None = Field(
        None,
        max_length=64,
        description="The token of a live episode, which goes on here; its last observation is told.",
    )
    injected_state: InjectedState | None = Field(None, description="Begin as a fork of a snapshot.")

    @model_validator(mode="after")
    def _check_single_start(self) -> Self:
        provided = self.model_fields_set & {"resume", "injected_state"}
        if len(provided) == 2 or (provided and self.model_fields_set - provided - {"episode_id"}):
            raise PydanticCustomError("one-way-to-begin", "an episode that goes on brings its own options with it")
        if "resume" in provided and "episode_id" in self.model_fields_set:
            raise PydanticCustomError("one-way-to-begin", "an episode that goes on keeps its id")
        return self

    @model_validator(mode="after")
    def _check_viewport(self) -> Self:
        if self.viewport is not None and self.modality is Modality.TEXT:
            raise PydanticCustomError("no-window", "a viewport belongs to the modality screenshot")
        return self

    @model_validator(mode="after")
    def _check_task_reference(self) -> Self:
        if (self.split is None) != (self.index is None):
            raise PydanticCustomError("one-task", "split and index belong together")
        if self.split is not None and self.task_id is not None:
            raise PydanticCustomError("one-task", "a task is named by split and index or by task_id")
        if self.split is not None or self.task_id is not None:
            provided = sorted(self.model_fields_set & {"scenario", "seed", "chaos", "chaos_overrides"})
            if provided:
                raise PydanticCustomError("one-task", "a task brings its own {given}", {"given": ", ".join(provided)})
        return self


class CompanyOSResetObservation(Observation):
    """The first observation: the brief and the day."""

    brief: str = Field(description="The task, in words.")
    company: str = Field(description="The name of the company.")
    acting_as: str = Field(description="Id of the employee in whose name the agent acts.")
    now: datetime = Field(description="Simulated time.")
    steps_left: int = Field(ge=0)
    screenshot: Screenshot | None = Field(None, exclude_if=is_none, description="The window, in its modality.")


class CompanyOSObservation(CallToolObservation):
    """What a step answers: the service's payload or problem in `result`; `/mcp` reads it under `data` as well."""

    now: datetime = Field(description="Simulated time after the step.")
    steps_left: int = Field(ge=0)
    screenshot: Screenshot | None = Field(None, exclude_if=is_none, description="The window, in its modality.")


class CompanyOSState(State):
    """The trainer's view of an episode; an agent never sees it."""

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
    task_id: str | None = Field(None, description="The id of the task, where the episode is one of the task set's.")
    task_set: str | None = Field(None, description="The version of the task set that the task is of.")
    token: str | None = Field(None, repr=False, description="The episode's token: for its agent, and for `resume`.")
    kind: Literal["companyos"] = "companyos"


class InjectionInfo(BaseModel):
    """One thing that was made to go wrong in an episode. It is for people: no agent is shown it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str
    mark: Literal["decisive", "friction"] = Field(description="Whether ignoring it fails, or costs.")
    entity: str = Field(description="What it struck.")
    detail: dict[str, Any] = Field(default_factory=dict)


class EpisodeRecord(BaseModel):
    """One line of `episodes.jsonl`: how one episode went."""

    model_config = ConfigDict(extra="forbid", serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)

    scenario: str
    seed: int | None = Field(description="Null only where a task's episode could not be begun.")
    chaos: int
    policy: str
    success: bool
    return_: float = Field(alias="return")
    steps: int
    outcome: Outcome
    digest: str = Field(description="sha256 over every (observation, reward, done) of the episode.")
    verdict: EpisodeVerdict | None = Field(None, description="What the rubric said, where evidence was kept.")
    injections: list[InjectionInfo] | None = Field(None, description="What went wrong, where evidence was kept.")
    task_id: str | None = Field(None, description="The task, where it is one of the task set's.")
    task_set: str | None = Field(None, description="The version of that task set.")
    trouble: str | None = Field(None, description="What broke, where the house, the policy or its model did.")
    usage: AgentUsage | None = Field(None, description="What the policy took, where it asks a model.")
    trial: int = Field(1, ge=1, description="Which of the episodes of the same task and policy it is.")


class SnapshotInfo(BaseModel):
    """One snapshot: an episode as it stood after a step."""

    model_config = ConfigDict(extra="forbid", serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)

    id: str = Field(pattern=SNAPSHOT_ID, description="The first 32 hexadecimal characters of the sha256 of its bytes.")
    episode_id: str = Field(description="The episode that it was taken of.")
    scenario: str
    seed: int
    chaos: int
    step: int
    now: datetime = Field(description="Simulated time.")
    return_: float = Field(alias="return")
    done: bool


class OpenedEpisode(BaseModel):
    """An episode that was begun for somebody else to go on with, by `resume` or by its id."""

    model_config = ConfigDict(extra="forbid")

    episode_id: str
    token: str = Field(repr=False)
