"""The expected state of every episode, and its possible states after operations without a response.

After file damage, an episode may also be in quarantine or refused as corrupt; after power loss, in an earlier state or
gone. It is never inconsistent between services. Calls of an earlier epoch have no effect, forks do not affect each
other, and a superseded gateway writes nothing. Without damage, snapshots can be forked and no file of an ended episode
is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from companyos_shared.wire.control import EvidenceReply, Row
from verification.simulation.service import ECHO, REJECTED_COUNT

StepAnswer = tuple[str, str, float]
"""Tool, simulated time and reward of a step."""


class Kind(StrEnum):
    """The kinds of actions."""

    ADD = "add"
    COUNT = "count"
    LIST = "list"
    WAIT = "wait"


@dataclass(frozen=True)
class Action:
    """One step. The text of an added entry is unique in the history."""

    kind: Kind
    service: str = ""
    text: str = ""
    minutes: int = 0

    def call(self) -> tuple[str, dict[str, Any]]:
        """Return the tool and its arguments."""
        if self.kind is Kind.ADD:
            return f"{self.service}_add_entry", {"text": self.text}
        if self.kind is Kind.COUNT:
            return f"{self.service}_count_entry", {"entry_id": 1}
        if self.kind is Kind.LIST:
            return f"{self.service}_list_entries", {}
        return "wait", {"minutes": self.minutes}

    def __str__(self) -> str:
        return " ".join(filter(None, (self.kind, self.service, self.text, str(self.minutes or ""))))


@dataclass(frozen=True)
class EpisodeModel:
    """One episode: its actions since the reset."""

    seed: int
    lineage: int
    actions: tuple[Action, ...] = ()
    answers: tuple[StepAnswer | None, ...] = ()
    """The response of each step, or None if it is unknown."""

    is_failed: bool = False
    """True if the episode ended as infra_error; the effect of its last step is then unknown."""

    def after_step(self, action: Action) -> EpisodeModel:
        """Return the episode after one more step."""
        return replace(self, actions=(*self.actions, action), answers=(*self.answers, None))

    def with_answers(self, answers: Sequence[StepAnswer]) -> EpisodeModel:
        """Return the episode with unknown responses filled in."""
        return replace(self, answers=tuple(known or now for known, now in zip(self.answers, answers, strict=False)))

    def as_failed(self) -> EpisodeModel:
        """Return the episode with its last step ended as infra_error."""
        return replace(self, is_failed=True)

    def rows(self) -> Counter[tuple[str, str]]:
        """Return every added entry by service and text."""
        return Counter((action.service, action.text) for action in self.actions if action.kind is Kind.ADD)

    def counts(self) -> Counter[str]:
        """Return the count of the first entry by service."""
        calls = Counter(action.service for action in self.actions if action.kind is Kind.COUNT)
        return Counter({service: number - number // REJECTED_COUNT for service, number in calls.items()})


@dataclass(frozen=True)
class ObservedEpisode:
    """A live episode as reported by the gateway, and the services whose data differs."""

    seed: int
    step: int
    is_failed: bool
    rows: Counter[tuple[str, str]]
    counts: Counter[str]
    echoes: Counter[tuple[str, str]]
    answers: tuple[StepAnswer, ...]
    torn: tuple[str, ...]
    """The services whose rows differ from those reported."""


def fold_changes(held: EvidenceReply) -> dict[str, Row]:
    """Return a service's entries from its reported changes."""
    entries = dict(held.initial["entries"])
    for change in held.changes:
        if change.after is None:
            entries.pop(change.key, None)
        else:
            entries[change.key] = change.after
    return entries


def observed_episode(
    seed: int,
    answers: Sequence[StepAnswer],
    entries: Mapping[str, Mapping[str, Row]],
    torn: Sequence[str],
    *,
    is_failed: bool,
) -> ObservedEpisode:
    """Return the observed episode from its services' entries."""
    rows, counts, echoes = Counter[tuple[str, str]](), Counter[str](), Counter[tuple[str, str]]()
    for service, found in entries.items():
        for key, row in found.items():
            text = str(row["text"])
            if key == "1":
                counts[service] = int(row["count"] or 0)
            elif text.startswith(ECHO):
                echoes[service, text.removeprefix(ECHO)] += 1
            elif key != "2":
                rows[service, text] += 1
    return ObservedEpisode(seed, len(answers), is_failed, rows, counts, echoes, tuple(answers), tuple(torn))


def difference(seen: ObservedEpisode, played: EpisodeModel) -> str:
    """Return the difference from the model; empty if equal."""
    if seen.seed != played.seed:
        return f"it is of seed {seen.seed}, not {played.seed}"
    if seen.is_failed:
        return "" if played.is_failed else "it ended as infra_error"
    if seen.step != len(played.actions):
        kind = "lost" if seen.step < len(played.actions) else "resurrected"
        return f"{kind}: it is at step {seen.step}, not {len(played.actions)}"
    if seen.rows != played.rows():
        missing, more = played.rows() - seen.rows, seen.rows - played.rows()
        kind = "lost" if missing else "doubled" if all(row in played.rows() for row in more) else "resurrected"
        return f"{kind}: missing {dict(missing)}, too many {dict(more)}"
    if +seen.counts != +played.counts():
        kind = "lost" if played.counts() - seen.counts else "doubled"
        return f"{kind}: counted {dict(seen.counts)}, not {dict(played.counts())}"
    if any(number > 1 for number in seen.echoes.values()) or seen.echoes - played.rows():
        return f"doubled: echoes {dict(seen.echoes)}"
    if any(before not in (None, now) for before, now in zip(played.answers, seen.answers, strict=True)):
        return f"torn: its responses were {played.answers}, now {seen.answers}"
    if seen.torn:
        return f"torn: {', '.join(seen.torn)} contain rows that differ from the reported ones"
    return ""


@dataclass
class Model:
    """Every episode by label with its possible states, and every snapshot by id.

    If the states include None, the episode may be gone. If there are none, it was refused as corrupt.
    """

    episodes: dict[str, list[EpisodeModel | None]] = field(default_factory=dict)
    past: dict[str, list[EpisodeModel | None]] = field(default_factory=dict)
    snapshots: dict[str, EpisodeModel] = field(default_factory=dict)
    lineages: int = 0

    def fresh(self, seed: int) -> EpisodeModel:
        """Return an episode right after a reset."""
        self.lineages += 1
        return EpisodeModel(seed, self.lineages)

    def set(self, label: str, states: list[EpisodeModel | None]) -> None:
        """Set an episode's possible states."""
        self.episodes[label] = states
        self.past.setdefault(label, []).extend(states)

    def live(self) -> list[str]:
        """Return the labels of the live episodes with a known state."""
        return [label for label, states in self.episodes.items() if len(states) == 1 and states[0] is not None]

    def of(self, label: str) -> EpisodeModel:
        """Return the only state of an episode."""
        (played,) = self.episodes[label]
        assert played is not None
        return played
