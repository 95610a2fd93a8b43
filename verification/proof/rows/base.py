"""What a row of the proof is: jobs that any process can take, what they count, and the lines that come of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from companyos_gateway.engine.engine import EpisodeEngine
from verification.proof.sizes import Size

MOST_NAMED = 3
"""Faults that a line names at most."""

JOB_FAILED = "the work itself is done"
"""The promise under which a job counts that broke."""


@dataclass(frozen=True, kw_only=True)
class Scope:
    """What is proved: which scenarios, in which size, from which seed on."""

    scenarios: tuple[str, ...]
    size: Size
    first: int

    def seeds(self, count: int) -> range:
        """Return so many seeds."""
        return range(self.first, self.first + count)


@dataclass(frozen=True, kw_only=True)
class Job:
    """One piece of work of a row; whoever takes it needs nothing else. `weight` puts the long ones first."""

    row: str
    part: str
    scope: Scope
    scenario: str = ""
    seed: int = 0
    level: int = 0
    weight: float = 1.0

    @property
    def place(self) -> str:
        """What this is, in words."""
        return f"{self.row} {self.part} {self.scenario} seed {self.seed} chaos {self.level}"


@dataclass(frozen=True, kw_only=True)
class Tally:
    """What a job has counted for a promise: of how many, what speaks against it, and figures where there are some."""

    promise: str
    n: int
    scenario: str = ""
    who: str = ""
    faults: tuple[str, ...] = ()
    values: tuple[float, ...] = ()
    notes: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Line:
    """One promise: what was claimed, of how many, what came out, and whether it holds; None where it was not run."""

    row: str
    promise: str
    n: int
    result: str
    seed: str
    holds: bool | None


class Row(ABC):
    """One row: it says what is to be done, does any of it, and reads what was counted."""

    letter: ClassVar[str]
    title: ClassVar[str]

    @abstractmethod
    def jobs(self, scope: Scope) -> Iterable[Job]:
        """Return the work of this row."""

    @abstractmethod
    async def work(self, engine: EpisodeEngine, job: Job) -> list[Tally]:
        """Do one job."""

    def lines(self, scope: Scope, tallies: Sequence[Tally]) -> list[Line]:
        """Return a line for each promise, in the order in which they were first counted."""
        return [self.line(scope, promise, group) for promise, group in group_by_promise(tallies).items()]

    def line(self, scope: Scope, promise: str, tallies: Sequence[Tally]) -> Line:
        """Return the line of one promise."""
        n, faults = sum(one.n for one in tallies), [fault for one in tallies for fault in one.faults]
        return self.make_line(scope, promise, n, summarize_violations(faults), holds=n > 0 and not faults)

    def make_line(self, scope: Scope, promise: str, n: int, result: str, *, holds: bool) -> Line:
        """Return a line of this row."""
        last = scope.first + max(0, scope.size.oracle_seeds - 1)
        seed = str(scope.first) if last == scope.first else f"{scope.first}-{last}"
        return Line(row=self.letter, promise=promise, n=n, result=result, seed=seed, holds=holds)

    def details(self, tallies: Sequence[Tally]) -> list[str]:
        """Return lines of Markdown that stand below the table."""
        return []


def group_by_promise(tallies: Iterable[Tally]) -> dict[str, list[Tally]]:
    """Return tallies by their promise, in the order in which these come first."""
    groups: dict[str, list[Tally]] = {}
    for one in tallies:
        groups.setdefault(one.promise, []).append(one)
    return groups


def summarize_violations(faults: Sequence[str]) -> str:
    """Say what speaks against a promise."""
    if not faults:
        return "0 against it"
    more = f"; {len(faults) - MOST_NAMED} more" if len(faults) > MOST_NAMED else ""
    return f"{len(faults)} against it: {'; '.join(faults[:MOST_NAMED])}{more}"
