"""Two Ray nodes on one machine play the same episodes as one process, and the loss of a node loses no episode."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from companyos.cli.main import app
from companyos.cluster import ClusterUnavailableError, play_on_cluster
from companyos.enterprise import Enterprise
from companyos.runner import EpisodePlan, PlayedEpisode, play_all, read_records

pytestmark = [
    pytest.mark.ray,
    pytest.mark.timeout(1500),
    pytest.mark.filterwarnings("default"),  # Ray itself emits warnings
]

ROLLOUTS = int(os.environ.get("ROLLOUTS", "500"))


@pytest.fixture
def cluster() -> Iterator[Any]:
    import ray
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    ray.shutdown()
    made.shutdown()


def _plans(count: int, policy: str = "noop") -> list[EpisodePlan]:
    return [EpisodePlan(scenario="vendor_onboarding", seed=seed, chaos=1, policy=policy) for seed in range(count)]


def test_the_rows_of_a_cluster_are_those_of_one_process(cluster: Any, tmp_path: Path) -> None:
    from pyarrow import parquet

    for _ in range(2):
        cluster.add_node(num_cpus=1)
    plans = _plans(8, "random")
    there = play_on_cluster("auto", plans, workers=2, parallel=2, out=tmp_path / "cluster")
    with Enterprise(alone=True) as enterprise:
        here = asyncio.run(play_all(enterprise.url, plans, out=tmp_path / "one"))
    assert [one.record for one in there] == read_records(tmp_path / "cluster")
    assert [one.record for one in there] == [one.record for one in here]
    assert [one.steps for one in there] == [one.steps for one in here]
    table = parquet.read_table(tmp_path / "cluster" / "trajectories" / "trajectories.parquet").to_pylist()
    assert sorted(row["digest"] for row in table) == sorted(one.record.digest for one in here)
    assert all(len(row["trajectory"]) == row["steps"] for row in table)


def test_without_a_cluster_auto_starts_one_for_the_run_and_stops_it(tmp_path: Path) -> None:
    import ray

    options = ["--policy", "noop", "-n", "2", "--cluster", "auto", "--workers", "1", "--out", str(tmp_path / "run")]
    answer = CliRunner().invoke(app, ["eval", *options])
    assert answer.exit_code == 0, answer.output
    message = re.sub(r"\s+", " ", answer.stderr)
    assert message.count("no Ray cluster is running: started one on this machine with") == 1
    assert not ray.is_initialized()
    assert len(read_records(tmp_path / "run")) == 2
    again = CliRunner().invoke(app, ["eval", *options, "--resume"])
    assert (again.exit_code, "started" in again.stderr) == (0, False), again.output


def test_auto_does_not_replace_a_named_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "not an address")
    with pytest.raises(ClusterUnavailableError, match="cannot connect to a Ray cluster at 'auto'"):
        play_on_cluster("auto", _plans(1), workers=1)


def test_a_node_killed_during_a_run_loses_and_duplicates_no_row(cluster: Any) -> None:
    first, second = (cluster.add_node(num_cpus=1) for _ in range(2))
    cluster.wait_for_nodes()
    began, seen, lost = time.monotonic(), [], []

    def on_played(episode: PlayedEpisode) -> None:
        seen.append(episode.plan.seed)
        if len(seen) == ROLLOUTS // 3:
            cluster.remove_node(second, allow_graceful=False)
            lost.append(time.monotonic() - began)

    played = play_on_cluster("auto", _plans(ROLLOUTS), workers=2, on_played=on_played)
    sys.stdout.write(
        f"\n{ROLLOUTS} rollouts in {time.monotonic() - began:.1f} s, a node killed after {lost[0]:.1f} s\n"
    )
    assert first is not second
    assert Counter(seen) == Counter(range(ROLLOUTS))
    assert len({one.record.digest for one in played}) == ROLLOUTS
    assert {one.record.outcome.value for one in played} == {"failed"}
    assert [one.plan.seed for one in played] == list(range(ROLLOUTS))
