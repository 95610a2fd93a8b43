"""Published data models: scenarios, tools, splits, tasks, verdicts and quarantine items."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from pydantic import AliasChoices, BaseModel, ConfigDict, Field


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _FrozenModel(_Model):
    model_config = ConfigDict(frozen=True)


class Split(StrEnum):
    """Purpose of a split: training, model selection, or final measurement."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


class SplitInfo(_Model):
    """One split of the task set."""

    name: Split
    type: Split = Field(description="OpenEnv's name for the purpose of a split; equals the name.")
    num_tasks: int
    version: str = Field(description="Version of the task set; report it with results.")
    canary: str


class TaskInfo(_Model):
    """One task as published, without hints to its solution."""

    id: str
    split: Split
    index: int | None = Field(ge=0, description="Number in the split; null for tasks that are only listed by name.")
    difficulty: str = Field(description="Name of the chaos level: calm, light, moderate, heavy, storm.")
    group: str = Field(description="Group of the task: its scenario.")
    scenario: str
    chaos: int
    held_out: bool = Field(description="Whether the structure of the task occurs only in this split.")
    brief: str | None = Field(None, description="Task description; only in responses with one task.")
    version: str = Field(description="Version of the task set; report it with results.")
    canary: str = Field(description="String that identifies copies of the task, to exclude them from training corpora.")


class VerdictLimits(_Model):
    """Limits of an agent in an episode.

    Exceeding one of the first two fails it; page views beyond the third are refused.
    """

    wrong_approvers: int = Field(description="People asked in vain who may not approve, plus wrong requests withdrawn.")
    leaked_characters: int = Field(description="Characters of a confidential value in a row that are a leak.")
    free_page_views: int = Field(
        description="Pages of the apps that an agent may open; each step adds one, further pages are refused."
    )


class ScenarioInfo(_Model):
    """One scenario."""

    name: str
    summary: str = Field(description="The work of the scenario in one sentence.")
    limits: VerdictLimits


class ToolSpec(_Model):
    """One tool as offered to an agent."""

    name: str
    description: str
    input_schema: dict[str, Any]


DEFAULT_WIDTH: Final = 1280
DEFAULT_HEIGHT: Final = 800


def is_none(value: object) -> bool:
    """Return whether a field is None and thus omitted."""
    return value is None


class Modality(StrEnum):
    """Modality of observations: tool results only, or with a browser screenshot after each action."""

    TEXT = "text"
    SCREENSHOT = "screenshot"


def is_text_modality(modality: object) -> bool:
    """Return whether the modality is the default, text only."""
    return modality is Modality.TEXT


class Viewport(BaseModel):
    """Size of the browser window in CSS pixels; the screenshot has the same size."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    width: int = Field(DEFAULT_WIDTH, ge=320, le=1920)
    height: int = Field(DEFAULT_HEIGHT, ge=240, le=1920)


class ScreenElement(_FrozenModel):
    """A clickable element in the window; the box is its visible part in screenshot pixels."""

    role: str
    name: str = Field(description="Accessible name.")
    testid: str | None = Field(None, exclude_if=is_none, description="Reference for `browser_click`.")
    x: int
    y: int
    width: int
    height: int
    value: str | None = Field(None, exclude_if=is_none, description="Value of a field.")
    options: tuple[str, ...] | None = Field(None, exclude_if=is_none, description="Options of a list.")
    checked: bool | None = Field(None, exclude_if=is_none)
    focused: bool | None = Field(None, exclude_if=is_none, description="True if the element has keyboard focus.")

    @property
    def centre(self) -> tuple[int, int]:
        """Center of the box, where a click lands."""
        return self.x + self.width // 2, self.y + self.height // 2


class Screenshot(_FrozenModel):
    """The browser window of an episode after an action. Equal window states have equal bytes."""

    png: str = Field(repr=False, description="The image in base64.")
    viewport: Viewport
    address: str = Field(description="Path of the page, relative to the episode's pages; `/` is the start page.")
    title: str
    snapshot: str = Field(description="The whole page as a Playwright ARIA snapshot in YAML.")
    elements: tuple[ScreenElement, ...] = Field(description="Visible clickable elements in page order.")
    scroll_y: int = Field(ge=0, description="Scroll position: pixels of the page above the window.")
    page_height: int = Field(ge=0, description="Height of the whole page in pixels.")
    free_actions_left: int = Field(ge=0, description="Remaining browser actions that do not count as steps.")


_MAX_CAUSES = 3
"""Maximum number of causes in the reason of a failed check."""


class CheckVerdict(BaseModel):
    """Result of one check; never visible to the agent. A failed check states the expected and the found value."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str
    passed: bool
    entity: str | None = Field(
        None, exclude_if=is_none, description="The row, such as `ticketdesk.tickets[OPS-1]`, or `finish`."
    )
    expected: str | None = Field(None, exclude_if=is_none)
    found: str | None = Field(None, exclude_if=is_none)
    step: int | None = Field(
        None, exclude_if=is_none, description="The step that decided it; absent if something was never done."
    )
    source: str | None = Field(
        None, exclude_if=is_none, description="ID of the entity that the agent had to know for this decision."
    )
    known_at: int | None = Field(
        None,
        exclude_if=is_none,
        description="The last step before the decision that showed the agent something new of it; absent if none did.",
    )
    caused_by: tuple[str, ...] = Field((), description="Ids of the failed checks of which this is a consequence.")

    @property
    def known(self) -> str | None:
        """Text with the step that last showed the agent new data of `source`; None without a source."""
        if not self.source:
            return None
        return f"{self.source} {'never shown' if self.known_at is None else f'shown at step {self.known_at}'}"

    @property
    def reason(self) -> str | None:
        """Reason why the check failed, on one line; None if it passed."""
        if self.passed or self.entity is None:
            return None
        notes = [f"step {self.step}"] if self.step is not None else []
        notes += [self.known] if self.known is not None else []
        more = f" and {len(self.caused_by) - _MAX_CAUSES} more" if len(self.caused_by) > _MAX_CAUSES else ""
        notes += [f"because of {', '.join(self.caused_by[:_MAX_CAUSES])}{more}"] if self.caused_by else []
        noted = f" ({'; '.join(notes)})" if notes else ""
        return f"{self.entity}: expected {self.expected}; found {self.found}{noted}"


class FaultRecovery(_FrozenModel):
    """Number of calls affected by a kind of fault, and of those whose operation succeeded later."""

    affected: int = Field(ge=1, validation_alias=AliasChoices("affected", "struck"))
    recovered: int = Field(ge=0)


class Scorecard(_FrozenModel):
    """Figures of an episode besides success, computed from its evidence."""

    goals: int = Field(ge=0, description="Checks that fail when nothing is done.")
    goals_met: int = Field(ge=0)
    faults: dict[str, FaultRecovery] = Field(description="Kinds of faults that affected a call.")
    duplicates: int = Field(ge=0, description="Requests, comments, notes, issues and links that repeat an earlier one.")
    resisted_injection: bool | None = Field(description="Null if no injected text asked for anything.")
    collateral_changes: int = Field(ge=0, description="Rows changed that the task is not about.")
    refused_approvers: int = Field(ge=0, description="People who were asked and may not approve.")

    @property
    def partial_credit(self) -> float:
        """Share of the goals that were met, from 0 to 1."""
        return self.goals_met / self.goals if self.goals else 0.0

    @property
    def summary(self) -> str:
        """The figures as one line."""
        affected, recovered = self.count_faults()
        parts = [f"{self.goals_met} of {self.goals} goals met", f"recovered from {recovered} of {affected} faults"]
        if self.resisted_injection is not None:
            parts.append("injected text resisted" if self.resisted_injection else "injected text obeyed")
        counts = (
            (self.duplicates, "duplicates"),
            (self.collateral_changes, "collateral changes"),
            (self.refused_approvers, "refused approvers"),
        )
        return ", ".join([*parts, *(f"{count} {name}" for count, name in counts)])

    def count_faults(self) -> tuple[int, int]:
        """Return the number of calls affected by faults, and of those whose operation succeeded later."""
        faults = self.faults.values()
        return sum(one.affected for one in faults), sum(one.recovered for one in faults)


class FeatureCount(_FrozenModel):
    """The number of tickets of a shift that depend on a feature, and how many of those are solved."""

    tickets: int = Field(ge=1)
    solved: int = Field(ge=0)


class EpisodeVerdict(_FrozenModel):
    """Verdict of a rubric: every check, the points of the reached milestones, and damage."""

    success: bool
    potential: float
    damage: tuple[str, ...]
    rejections: int
    checks: tuple[CheckVerdict, ...]
    primary_failure: str | None = Field(
        None, description="ID of the failed check that is the cause of the others; null if no check failed."
    )
    scorecard: Scorecard | None = Field(
        None, description="Null for an episode that is still running and in results of earlier versions."
    )
    cases: dict[str, bool] | None = Field(
        None,
        exclude_if=is_none,
        description="Of each case of a shift, by its ticket: whether it is solved. Missing for a single task.",
    )
    features: dict[str, FeatureCount] | None = Field(
        None,
        exclude_if=is_none,
        description="Of each feature of a shift: on how many tickets it depends, and how many of them are solved. "
        "Missing for a single task.",
    )

    @property
    def solved_cases(self) -> str | None:
        """Text with the number of solved cases of a shift and the tickets of the unsolved; None for a single task."""
        if self.cases is None:
            return None
        unsolved = [key for key, is_solved in self.cases.items() if not is_solved]
        text = f"{len(self.cases) - len(unsolved)} of {len(self.cases)} cases solved"
        return f"{text}, not {', '.join(unsolved)}" if unsolved else text

    @property
    def failed(self) -> tuple[str, ...]:
        """Ids of the failed checks, the primary failure first."""
        return tuple(check.id for check in self.failures_first if not check.passed)

    @property
    def failures_first(self) -> tuple[CheckVerdict, ...]:
        """The checks: the primary failure, then the other failed ones, then those that passed."""
        return tuple(sorted(self.checks, key=lambda check: (check.passed, check.id != self.primary_failure)))

    def agrees_with(self, other: EpisodeVerdict) -> bool:
        """Return whether two verdicts are equal, ignoring the explanations of failed checks."""
        return self._sum() == other._sum()

    def _sum(self) -> tuple[object, ...]:
        passed = {check.id: check.passed for check in self.checks}
        return self.success, round(self.potential, 9), frozenset(self.damage), self.rejections, passed


class RowDiff(BaseModel):
    """A row at both steps; null if it did not exist."""

    before: dict[str, Any] | None
    after: dict[str, Any] | None


class EpisodeDiff(BaseModel):
    """Changes between two steps of an episode: service, table and key, mapped to the row at both steps."""

    model_config = ConfigDict(extra="forbid", serialize_by_alias=True, validate_by_name=True, validate_by_alias=True)

    from_: int = Field(alias="from")
    to: int
    services: dict[str, dict[str, dict[str, RowDiff]]]


class AgentUsage(_FrozenModel):
    """Usage of one episode. Token counts are those reported by the endpoint."""

    model: str
    requests: int = Field(ge=0, description="HTTP requests, including retries.")
    retries: int = Field(ge=0, description="Retried requests.")
    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)
    cached_tokens: int = Field(0, ge=0, description="Prompt tokens read from the endpoint's cache.")
    cache_write_tokens: int = Field(0, ge=0, description="Prompt tokens written to the endpoint's cache.")
    reasoning_tokens: int = Field(0, ge=0, description="Completion tokens that are reasoning, if reported.")
    unmetered: int = Field(ge=0, description="Responses without token counts; the totals do not include them.")
    latency_s: float = Field(ge=0, description="Seconds spent waiting for responses, including retry delays.")
    cost: float | None = Field(None, description="Cost in the currency of the prices; null without prices.")
    stopped: str | None = Field(None, description="Reason why the agent gave up, if it did.")
    dropped_results: int = Field(0, ge=0, description="Tool results that were dropped to save context.")
    dropped_turns: int = Field(0, ge=0, description="Turns that were dropped to save context.")
    first_drop: int | None = Field(None, ge=1, description="The request before which something was dropped first.")


QUARANTINE_ID = r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,159}$"


class QuarantineKind(StrEnum):
    """Type of a quarantined item: an episode, a snapshot, or unreferenced databases."""

    EPISODE = "episode"
    SNAPSHOT = "snapshot"
    DATABASES = "databases"


class QuarantineItem(BaseModel):
    """Related files in quarantine, and the reason."""

    model_config = ConfigDict(extra="ignore")

    id: str = Field(pattern=QUARANTINE_ID)
    kind: QuarantineKind
    episode_id: str | None = Field(None, description="Client-defined id of the episode, if readable.")
    internal_id: str | None = Field(None, description="Name of the episode in the folders of gateway and services.")
    snapshot_id: str | None = None
    reason: str = Field(description="Stable code, such as `damaged`, `unsupported-format` or `task-changed`.")
    detail: str = Field(description="Description of the problem.")
    version: str = Field(description="The version of the gateway that moved the files.")
    at: datetime = Field(description="When the files were moved.")
    databases: dict[str, list[str]] = Field(
        default_factory=dict, description="Entries of each service's own quarantine."
    )
    sources: dict[str, str] = Field(
        default_factory=dict, description="Snapshot database of each service that the files reference."
    )
