"""`make shifts` names the episodes that were not judged."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from companyos.contract import Outcome
from verification.benchmarks import shifts
from verification.benchmarks.shifts import Cell, Tally
from verification.proof.episode_runner import EpisodeResult


def _play_without_verdict(size: str, level: int, seeds: Sequence[int]) -> dict[Cell, Tally]:
    tally = Tally()
    tally.add(
        EpisodeResult(
            player="worker1",
            seed=seeds[0],
            chaos=level,
            kinds=frozenset(),
            outcome=Outcome.INFRA_ERROR,
            return_=0.0,
            steps=1,
            max_steps=9,
            digest="",
        )
    )
    return {("worker1", size, level): tally}


def test_an_episode_that_ends_with_an_infrastructure_error_is_named_and_no_page_is_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(shifts, "ProcessPoolExecutor", lambda *_: ThreadPoolExecutor(1))
    monkeypatch.setattr(shifts, "play_shifts", _play_without_verdict)
    assert shifts.main(["--size", "day", "--level", "2", "--seeds", "6", "--out", str(tmp_path)]) == 1
    reported = [f"shift-day: worker1, seed {seed}, chaos 2: infra_error" for seed in (0, 5)]
    assert capsys.readouterr().err.splitlines()[1:] == reported
    assert list(tmp_path.iterdir()) == []
