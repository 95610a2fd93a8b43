"""The table of a cluster's run has a row for each episode, including those of earlier sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from companyos.cluster.parquet import FILE, TrajectoryTable
from companyos.contract import EpisodeRecord
from companyos.runner import EpisodePlan, PlayedEpisode, RunFolder, StepLine
from companyos.runner.run_reader import TRAJECTORIES

pytestmark = pytest.mark.ray

PLANS = [EpisodePlan(scenario="tiny", seed=seed, chaos=1, policy="noop") for seed in range(4)]


def _played(plan: EpisodePlan) -> PlayedEpisode:
    output = {"scenario": "tiny", "seed": plan.seed, "chaos": 1, "policy": "noop", "success": True, "return": 1.0}
    record = EpisodeRecord.model_validate({**output, "steps": 1, "outcome": "success", "digest": f"of {plan.seed}"})
    line = StepLine(
        step=1,
        tool="finish",
        arguments={"outcome": "done", "summary": "a\u2028b"},
        result=None,
        error=None,
        reward=1.0,
        done=True,
        now="2026-03-02T09:15:00Z",
    )
    return PlayedEpisode(plan=plan, record=record, steps=(line,), episode_id="one")


def _write_run(run: Path, node: str, *plans: EpisodePlan, tabled: bool = True) -> None:
    folder = RunFolder(run, PLANS, resume=True)
    table = TrajectoryTable(run, list(folder.kept.values()))
    for plan in plans:
        folder.add(_played(plan), None)
        if tabled:
            table.add(_played(plan), node)
    folder.close()
    if tabled:
        table.close()


def test_a_resumed_run_keeps_the_rows_of_previously_played_episodes(tmp_path: Path) -> None:
    from pyarrow import parquet

    _write_run(tmp_path, "first", PLANS[0], PLANS[1])
    _write_run(tmp_path, "killed", PLANS[2], tabled=False)
    _write_run(tmp_path, "last", PLANS[3])
    rows = parquet.read_table(tmp_path / TRAJECTORIES / FILE).to_pylist()
    assert [(row["seed"], row["node"]) for row in rows] == [(0, "first"), (1, "first"), (2, None), (3, "last")]
    assert [row["digest"] for row in rows] == [_played(plan).record.digest for plan in PLANS]
    assert [[step["tool"] for step in row["trajectory"]] for row in rows] == [["finish"]] * len(PLANS)


def test_a_truncated_table_is_written_again(tmp_path: Path) -> None:
    from pyarrow import parquet

    _write_run(tmp_path, "first", PLANS[0])
    (tmp_path / TRAJECTORIES / FILE).write_bytes(b"PAR1")
    _write_run(tmp_path, "last", PLANS[1])
    rows = parquet.read_table(tmp_path / TRAJECTORIES / FILE).to_pylist()
    assert [(row["seed"], row["node"]) for row in rows] == [(0, None), (1, "last")]
