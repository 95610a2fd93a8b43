"""The interface of a row of the proof: jobs that any process can run, their tallies, and the resulting lines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from companyos_gateway.engine.engine import EpisodeEngine
from companyos_shared.streams import Stream
from verification.proof.sizes import Size

MAX_NAMED = 3
"""Maximum number of violations that a line names."""

JOB_FAILED = "every job finishes"
"""The guarantee that counts failed jobs."""


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The scenarios, size and first seed of a proof."""

    scenarios: tuple[str, ...]
    size: Size
    first: int

    def seeds(self, count: int) -> range:
        """Return the first `count` seeds of the scope."""
        return range(self.first, self.first + count)

    def sampled(self, name: str) -> tuple[str, ...]:
        """Return the scenarios of a row or chaos kind, sampled down to the maximum of the size."""
        return self.sample(self.size.sampled_scenarios, name)

    def sample(self, count: int, *name: str) -> tuple[str, ...]:
        """Return at most `count` of the scenarios, sampled by name and first seed."""
        sampled = Stream("proof", *name, self.first).sample(self.scenarios, min(count, len(self.scenarios)))
        return tuple(sorted(sampled))


@dataclass(frozen=True, kw_only=True)
class Job:
    """One independent job of a row. Jobs with a higher `weight` run first."""

    row: str
    part: str
    scope: Scope
    scenario: str = ""
    seed: int = 0
    level: int = 0
    weight: float = 1.0

    @property
    def place(self) -> str:
        """A description of the job."""
        return f"{self.row} {self.part} {self.scenario} seed {self.seed} chaos {self.level}"


@dataclass(frozen=True, kw_only=True)
class Tally:
    """The result of a job for one guarantee: number of samples, violations, and optional figures."""

    promise: str
    n: int
    scenario: str = ""
    who: str = ""
    faults: tuple[str, ...] = ()
    values: tuple[float, ...] = ()
    notes: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Line:
    """One guarantee: promise, sample size, result, and whether it holds (None if not run)."""

    row: str
    promise: str
    n: int
    result: str
    seed: str
    holds: bool | None


class Row(ABC):
    """One row: creates jobs, runs them, and summarizes their tallies."""

    letter: ClassVar[str]
    title: ClassVar[str]

    def applies(self, scope: Scope) -> bool:
        """Return whether the row has jobs in a scope."""
        return True

    @abstractmethod
    def jobs(self, scope: Scope) -> Iterable[Job]:
        """Return the jobs of this row."""

    @abstractmethod
    async def work(self, engine: EpisodeEngine, job: Job) -> list[Tally]:
        """Run one job."""

    def lines(self, scope: Scope, tallies: Sequence[Tally]) -> list[Line]:
        """Return one line per guarantee, in order of first occurrence."""
        return [self.line(scope, promise, group) for promise, group in group_tallies(tallies, "promise").items()]

    def line(self, scope: Scope, promise: str, tallies: Sequence[Tally]) -> Line:
        """Return the line of one guarantee."""
        n, faults = sum(tally.n for tally in tallies), [fault for tally in tallies for fault in tally.faults]
        return self.make_line(scope, promise, n, summarize_violations(faults), holds=n > 0 and not faults)

    def make_line(self, scope: Scope, promise: str, n: int, result: str, *, holds: bool) -> Line:
        """Return a line of this row."""
        last = scope.first + max(0, scope.size.oracle_seeds - 1)
        seed = str(scope.first) if last == scope.first else f"{scope.first}-{last}"
        return Line(row=self.letter, promise=promise, n=n, result=result, seed=seed, holds=holds)

    def details(self, tallies: Sequence[Tally]) -> list[str]:
        """Return Markdown lines to print below the table."""
        return []


def group_tallies(tallies: Iterable[Tally], by: Literal["promise", "scenario", "who"]) -> dict[str, list[Tally]]:
    """Return tallies by the value of an attribute, in order of first occurrence."""
    groups: dict[str, list[Tally]] = {}
    for tally in tallies:
        groups.setdefault(getattr(tally, by), []).append(tally)
    return groups


def summarize_violations(faults: Sequence[str]) -> str:
    """Return a summary of the violations of a guarantee."""
    if not faults:
        return "0 violations"
    more = f"; {len(faults) - MAX_NAMED} more" if len(faults) > MAX_NAMED else ""
    return f"{len(faults)} violations: {'; '.join(faults[:MAX_NAMED])}{more}"
