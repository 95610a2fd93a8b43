"""Reference model of episodes in plain Python, compared with the real enterprise."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from companyos_shared.streams import canonical_json
from tests.promises import demo_scenario

Row = tuple[str, str, str]
"""Service, table and the text that marks the row."""

Observation = dict[str, Any]
"""An observation as JSON."""

MARK = "canary "


@dataclass(frozen=True)
class Action:
    """One tool call. `writes` is the row that it creates if it is carried out."""

    tool: str
    arguments: dict[str, Any]
    writes: Row | None = None
    may_be_refused: bool = False
    is_invalid: bool = False

    @property
    def operation(self) -> str:
        """The service operation of the tool."""
        return self.tool.partition("_")[2]

    @property
    def name(self) -> str:
        """The action as canonical JSON text."""
        return canonical_json([self.tool, self.arguments]).decode()


@dataclass
class EpisodeModel:
    """One episode: the actions since its reset, and the expected state."""

    seed: int
    lineage: int
    actions: tuple[str, ...] = ()
    rows: Counter[Row] = field(default_factory=Counter)
    request: Counter[str] = field(default_factory=Counter)
    now: str = "2026-03-02T09:00:00Z"
    return_: float = 0.0
    last: tuple[Action, Observation] | None = None

    @property
    def step(self) -> int:
        """Number of steps taken."""
        return len(self.actions)

    @property
    def is_over(self) -> bool:
        """Return whether no step is left."""
        return self.step == demo_scenario.MAX_STEPS

    def take(self, action: Action, seen: Observation) -> None:
        """Apply one step and its observation."""
        assert (seen["error"] is not None) == action.is_invalid, seen
        assert seen["done"] == (self.step + 1 == demo_scenario.MAX_STEPS), seen
        self.request[action.operation] += 1
        nth = self.request[action.operation]
        is_refused = isinstance(seen["result"], dict) and "code" in seen["result"]
        if not action.may_be_refused:
            assert is_refused != demo_scenario.is_answered(action.operation, nth), seen
        is_written = not is_refused if action.may_be_refused else demo_scenario.is_carried_out(action.operation, nth)
        if action.writes and is_written:
            self.rows[action.writes] += 1
        self.actions += (action.name,)
        self.now, self.return_ = seen["now"], round(self.return_ + seen["reward"], 6)
        self.last = (action, seen)

    def copy(self) -> EpisodeModel:
        """Return an independent copy."""
        return deepcopy(self)


@dataclass(frozen=True)
class SnapshotModel:
    """A snapshot: the episode at the time of the snapshot, and a fingerprint of every file that belongs to it."""

    played: EpisodeModel
    fingerprints: dict[str, str]


@dataclass
class Model:
    """Every episode by label, every snapshot by id, and the last observation of every sequence of actions."""

    live: dict[str, EpisodeModel] = field(default_factory=dict)
    snapshots: dict[str, SnapshotModel] = field(default_factory=dict)
    answered: dict[tuple[int, tuple[str, ...]], Observation] = field(default_factory=dict)
    lineages: int = 0

    def reset(self, label: str, seed: int) -> None:
        """Begin an episode."""
        self.lineages += 1
        self.live[label] = EpisodeModel(seed, self.lineages)

    def take(self, label: str, action: Action, seen: Observation) -> None:
        """Apply a step; the same actions from the same start must have the same observations."""
        played = self.live[label]
        played.take(action, seen)
        before = self.answered.setdefault((played.seed, played.actions), seen)
        assert seen == before, f"the same course of actions was answered otherwise: {before} and {seen}"
