"""Runs the cells: starts deployments, reuses them across trials, and keeps the folders of those with findings."""

from __future__ import annotations

import asyncio
import shutil
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from verification.faults.deployment import Deployment
from verification.faults.findings import Findings
from verification.faults.step_script import SEEDS, Reference
from verification.faults.trial import Cell, Trial, play_reference

TRIAL_DEADLINE_S = 90.0
IN_CI = 10
"""Number of release trials per CI trial."""

MAX_SENTENCES = 3


@dataclass
class CellResult:
    """The results of one cell."""

    cell: Cell
    planned: int
    trials: int = 0
    findings: Findings = field(default_factory=Findings)
    not_run: str | None = None


@dataclass
class Suite:
    """The selected cells and how to run them; `lanes` deployments run in parallel."""

    cells: list[Cell]
    folder: Path
    seed: int
    lanes: int = 2
    is_full: bool = False
    trials: int | None = None
    defect: str | None = None
    on_trial: Callable[[CellResult], None] = lambda _result: None
    results: list[CellResult] = field(init=False)

    def __post_init__(self) -> None:
        self.results = [
            CellResult(cell, self._planned(cell), not_run=cell.deployment.reason_not_to_run()) for cell in self.cells
        ]

    @property
    def planned(self) -> int:
        """Number of planned trials."""
        return sum(result.planned for result in self.results if result.not_run is None)

    async def run(self) -> None:
        """Run every cell."""
        possible = (result for result in self.results if result.not_run is None)
        waiting = sorted(possible, key=lambda result: result.cell.deployment.__name__)
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
                result.findings.add(await lane.trial(result.cell, nth))
                result.trials += 1
                self.on_trial(result)
        finally:
            await lane.close()


class Lane:
    """Runs trials in sequence; reuses a deployment while it is intact and of the kind that the cell requires."""

    def __init__(self, suite: Suite, number: int) -> None:
        self._suite = suite
        self._number = number
        self._deployments = 0
        self._trials = 0
        self._deployment: Deployment | None = None
        self._references: dict[int, Reference] = {}

    async def trial(self, cell: Cell, nth: int) -> Findings:
        """Run one trial of a cell. An exception, such as a timeout, is recorded as lost data."""
        self._trials += 1
        findings = Findings()
        try:
            deployment = await self._deployment_of(cell.deployment)
            rng = Random(f"{self._suite.seed}/{cell.name}/{nth}")
            number = self._number * 50_000 + self._trials
            trial = Trial(deployment, self._references, rng, number, findings)
            async with asyncio.timeout(TRIAL_DEADLINE_S):
                await cell.run(trial)
        except Exception as error:  # noqa: BLE001 - any exception is a finding of this trial; the next one still runs
            findings.lost.append(f"{type(error).__name__}: {error}")
        if not findings.is_clean:
            if self._deployment is not None:
                self._deployment.folder.mkdir(parents=True, exist_ok=True)
                (self._deployment.folder / "findings.txt").write_text(
                    f"{cell.name}, trial {nth}\n" + "\n".join(findings.to_sentences()) + "\n", encoding="utf-8"
                )
            await self.close(keep=True)
        return findings

    async def close(self, *, keep: bool = False) -> None:
        """Stop the deployment; delete its folder unless `keep`."""
        deployment, self._deployment = self._deployment, None
        self._references = {}
        if deployment is not None:
            await deployment.stop()
            if not keep:
                shutil.rmtree(deployment.folder, ignore_errors=True)

    async def _deployment_of(self, kind: type[Deployment]) -> Deployment:
        if type(self._deployment) is not kind:
            await self.close()
            self._deployments += 1
            folder = self._suite.folder / f"deployment-{self._number}-{self._deployments}"
            rng = Random(f"{self._suite.seed}/{self._number}/{self._deployments}")
            self._deployment = kind(folder, rng, defect=self._suite.defect)
            await self._deployment.start()
            self._references = {seed: await play_reference(self._deployment, seed) for seed in SEEDS}
        assert self._deployment is not None
        return self._deployment
