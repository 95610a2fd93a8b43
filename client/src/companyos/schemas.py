"""What is published: scenarios, tools, the splits of the task set, and tasks without what helps to do them."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field


class Split(StrEnum):
    """What tasks are for: to learn from, to choose by, and to measure with."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


class SplitInfo(BaseModel):
    """One split of the task set."""

    model_config = ConfigDict(extra="forbid")

    name: Split
    type: Split = Field(description="OpenEnv's word for what a split is for: the same.")
    num_tasks: int
    version: str = Field(description="The version of the task set; results name it.")
    canary: str


class TaskInfo(BaseModel):
    """One task as it is published: nothing in it helps to do it."""

    model_config = ConfigDict(extra="forbid")

    id: str
    split: Split
    index: int = Field(ge=0)
    difficulty: str = Field(description="The name of the chaos level: calm, light, moderate, heavy, storm.")
    group: str = Field(description="What tasks have in common: the scenario.")
    scenario: str
    chaos: int
    held_out: bool = Field(description="Whether the structure of the task occurs in no other split.")
    brief: str | None = Field(None, description="What the agent is told; only where one task is asked for.")
    version: str = Field(description="The version of the task set; results name it.")
    canary: str = Field(description="Marks the task wherever it is copied to: not to learn from.")


class ScenarioInfo(BaseModel):
    """One scenario as people are told of it."""

    model_config = ConfigDict(extra="forbid")

    name: str
    summary: str = Field(description="What there is to do, in one sentence.")


class ToolSpec(BaseModel):
    """One tool as an agent is offered it."""

    model_config = ConfigDict(extra="forbid")

    name: str
    description: str
    input_schema: dict[str, Any]


DEFAULT_WIDTH: Final = 1280
DEFAULT_HEIGHT: Final = 800


def is_none(value: object) -> bool:
    """Say whether a field has nothing to tell, so that it is left out."""
    return value is None


class Modality(StrEnum):
    """How an agent sees: answers of tools alone, or with each answer a picture of the window of a browser."""

    TEXT = "text"
    SCREENSHOT = "screenshot"


def is_text_modality(modality: object) -> bool:
    """Say whether an agent sees text alone, which needs no saying."""
    return modality is Modality.TEXT


class Viewport(BaseModel):
    """The size of a window, in CSS pixels, each of which is a pixel of the picture."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    width: int = Field(DEFAULT_WIDTH, ge=320, le=1920)
    height: int = Field(DEFAULT_HEIGHT, ge=240, le=1920)


class ScreenElement(BaseModel):
    """Something in the window that takes a click; the box is the part of it that is seen, in pixels of the picture."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    role: str
    name: str = Field(description="What people read or hear it called.")
    testid: str | None = Field(None, exclude_if=is_none, description="What `browser_click` finds it by.")
    x: int
    y: int
    width: int
    height: int
    value: str | None = Field(None, exclude_if=is_none, description="What a field holds.")
    options: tuple[str, ...] | None = Field(None, exclude_if=is_none, description="What a list offers.")
    checked: bool | None = Field(None, exclude_if=is_none)
    focused: bool | None = Field(None, exclude_if=is_none, description="True where typed text goes.")

    @property
    def centre(self) -> tuple[int, int]:
        """Where a click hits it."""
        return self.x + self.width // 2, self.y + self.height // 2


class Screenshot(BaseModel):
    """The window of an episode's browser after an action. Equal states of the window are equal bytes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    png: str = Field(repr=False, description="The picture, base64.")
    viewport: Viewport
    address: str = Field(description="Where the window is, below the episode's apps: `/` is the desk.")
    title: str
    snapshot: str = Field(description="The whole page as Playwright's aria snapshot, YAML.")
    elements: tuple[ScreenElement, ...] = Field(description="What is seen and takes a click, in the page's order.")
    scroll_y: int = Field(ge=0, description="Pixels of the page that lie above the window.")
    page_height: int = Field(ge=0, description="Pixels of the whole page.")
    looks_left: int = Field(ge=0, description="Actions of the browser that may be no step of the episode.")


class CheckVerdict(BaseModel):
    """Whether one check passed, and what of the evidence says so. No agent is shown it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    passed: bool
    evidence: str


class EpisodeVerdict(BaseModel):
    """What a rubric says of an episode: every check, the points of the milestones that stand, what was damaged."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    success: bool
    potential: float
    damage: tuple[str, ...]
    rejections: int
    checks: tuple[CheckVerdict, ...]

    @property
    def failed(self) -> tuple[str, ...]:
        """The ids of the checks that did not pass."""
        return tuple(check.id for check in self.checks if not check.passed)

    def agrees_with(self, other: EpisodeVerdict) -> bool:
        """Say whether two verdicts come to the same, whatever their words."""
        return self._sum() == other._sum()

    def _sum(self) -> tuple[object, ...]:
        passed = {check.id: check.passed for check in self.checks}
        return self.success, round(self.potential, 9), frozenset(self.damage), self.rejections, passed


class RowDiff(BaseModel):
    """One row at both ends: null where there was none."""

    before: dict[str, Any] | None
    after: dict[str, Any] | None


class EpisodeDiff(BaseModel):
    """What differs between two steps of an episode: service, table and key to the row at both ends."""

    model_config = ConfigDict(extra="forbid", serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)

    from_: int = Field(alias="from")
    to: int
    services: dict[str, dict[str, dict[str, RowDiff]]]


class AgentUsage(BaseModel):
    """The account of one episode. Tokens are those that the endpoint told."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str
    requests: int = Field(ge=0, description="HTTP requests that were sent, those sent again included.")
    retries: int = Field(ge=0, description="Requests that were sent again.")
    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)
    unmetered: int = Field(ge=0, description="Answers that told no tokens: these figures are too low by them.")
    latency_s: float = Field(ge=0, description="Seconds spent waiting for answers, pauses between retries included.")
    cost: float | None = Field(None, description="In the currency of the prices; null where no prices were given.")
    stopped: str | None = Field(None, description="Why the agent gave up, where it did.")


QUARANTINE_ID = r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,159}$"


class QuarantineKind(StrEnum):
    """What is in quarantine: an episode, a snapshot, or databases that no episode and no snapshot names."""

    EPISODE = "episode"
    SNAPSHOT = "snapshot"
    DATABASES = "databases"


class QuarantineItem(BaseModel):
    """Files that belong together in quarantine, and why they are there."""

    model_config = ConfigDict(extra="ignore")

    id: str = Field(pattern=QUARANTINE_ID)
    kind: QuarantineKind
    episode_id: str | None = Field(None, description="The client's label of the episode, as far as it could be read.")
    internal_id: str | None = Field(None, description="The episode's name in the folders of gateway and services.")
    snapshot_id: str | None = None
    reason: str = Field(description="Stable code, such as `damaged`, `unsupported-format` or `task-changed`.")
    detail: str = Field(description="What was found, in words.")
    version: str = Field(description="The version of the gateway that moved the files.")
    at: datetime = Field(description="When the files were moved.")
    databases: dict[str, list[str]] = Field(
        default_factory=dict, description="By service, the entries of the service's own quarantine."
    )
    sources: dict[str, str] = Field(
        default_factory=dict, description="By service, the snapshot database that the files name."
    )
