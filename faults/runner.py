"""Runs the cells: houses are built, used for trial after trial, and left where something in them went wrong."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from faults.clock import ClockHouse
from faults.embedded import EmbeddedHouse
from faults.findings import Findings
from faults.house import House
from faults.reference import play_reference
from faults.script import SEEDS, Reference
from faults.small_disks import SmallDisks
from faults.trial import Build, Cell, Trial

TRIAL_DEADLINE_S = 90.0
IN_CI = 10
"""One trial in CI for so many of a release."""

MOST_SENTENCES = 3
KINDS = {Build.SMALL_DISKS: SmallDisks, Build.EMBEDDED: EmbeddedHouse, Build.OWN_CLOCK: ClockHouse}


@dataclass
class CellResult:
    """What the trials of one cell came to."""

    cell: Cell
    planned: int
    trials: int = 0
    took_s: float = 0.0
    findings: Findings = field(default_factory=Findings)
    not_run: str | None = None


@dataclass
class Suite:
    """All cells that are asked for, and how they are run: `lanes` houses at a time."""

    cells: list[Cell]
    folder: Path
    seed: int
    lanes: int = 2
    is_full: bool = False
    trials: int | None = None
    sabotage: str | None = None
    on_trial: Callable[[CellResult], None] = lambda _result: None
    results: list[CellResult] = field(init=False)

    def __post_init__(self) -> None:
        self.results = [CellResult(cell, self._planned(cell), not_run=cell.not_run()) for cell in self.cells]

    @property
    def planned(self) -> int:
        """How many trials there will be."""
        return sum(result.planned for result in self.results if result.not_run is None)

    async def run(self) -> None:
        """Run every cell."""
        waiting = sorted((one for one in self.results if one.not_run is None), key=lambda one: one.cell.build)
        queue = deque((result, nth) for result in waiting for nth in range(result.planned))
        await asyncio.gather(*(self._lane(number, queue) for number in range(self.lanes)))

    def _planned(self, cell: Cell) -> int:
        if self.trials is not None:
            return self.trials
        return cell.full if self.is_full else max(1, cell.full // IN_CI)

    async def _lane(self, number: int, queue: deque[tuple[CellResult, int]]) -> None:
        lane = Lane(self, number)
        try:
            while queue:
                result, nth = queue.popleft()
                began = time.monotonic()
                result.findings.add(await lane.trial(result.cell, nth))
                result.took_s += time.monotonic() - began
                result.trials += 1
                self.on_trial(result)
        finally:
            await lane.leave()


class Lane:
    """One house after the other, each used as long as it is whole and of the build that a cell asks for."""

    def __init__(self, suite: Suite, number: int) -> None:
        self._suite = suite
        self._number = number
        self._houses = 0
        self._trials = 0
        self._build: Build | None = None
        self._house: House | None = None
        self._references: dict[int, Reference] = {}

    async def trial(self, cell: Cell, nth: int) -> Findings:
        """Run one trial of a cell; a house that does not come back, or takes for ever, has lost everything."""
        self._trials += 1
        findings = Findings()
        try:
            house = await self._house_for(cell.build)
            chance = Random(f"{self._suite.seed}/{cell.name}/{nth}")
            number = self._number * 50_000 + self._trials
            trial = Trial(house, self._references, chance, number, findings)
            async with asyncio.timeout(TRIAL_DEADLINE_S):
                await cell.run(trial)
        except Exception as error:  # noqa: BLE001 - whatever went wrong, the cell has failed and the next one is run
            findings.lost.append(f"{type(error).__name__}: {error}")
        if not findings.is_clean:
            if self._house is not None:
                self._house.folder.mkdir(parents=True, exist_ok=True)
                (self._house.folder / "findings.txt").write_text(
                    f"{cell.name}, trial {nth}\n" + "\n".join(findings.sentences()) + "\n", encoding="utf-8"
                )
            await self.leave(keep=True)
        return findings

    async def leave(self, *, keep: bool = False) -> None:
        """End the house; its folder stays where something was found in it."""
        house, self._house = self._house, None
        self._references = {}
        if house is not None:
            await house.stop()
            if not keep:
                shutil.rmtree(house.folder, ignore_errors=True)

    async def _house_for(self, build: Build) -> House:
        if self._house is None or self._build is not build:
            await self.leave()
            self._houses += 1
            folder = self._suite.folder / f"house-{self._number}-{self._houses}"
            chance = Random(f"{self._suite.seed}/{self._number}/{self._houses}")
            kind = KINDS.get(build, House)
            self._build = build
            self._house = kind(folder, chance, proxied=build is Build.PROXIED, sabotage=self._suite.sabotage)
            await self._house.start()
            self._references = {seed: await play_reference(self._house, seed) for seed in SEEDS}
        return self._house
