"""`python -m verification.benchmarks.cluster`: rollouts per second on a local Ray cluster with one and two workers.

The measurement starts with the first finished episode and ends with the last, so startup time is excluded.
"""

from __future__ import annotations

import argparse
import os
import time
from itertools import pairwise

from companyos.cluster import play_on_cluster
from companyos.runner import EpisodePlan, PlayedEpisode


def main() -> None:
    """Measure, and print one line per number of workers."""
    parser = argparse.ArgumentParser(prog="python -m verification.benchmarks.cluster", description=__doc__)
    parser.add_argument("--rollouts", type=int, default=200)
    parser.add_argument("--policy", default="noop")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    import ray
    from ray.cluster_utils import Cluster

    for workers in options.workers:
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
        for _ in range(workers):
            cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        finish_times = _play(options.rollouts, options.policy, workers)
        ray.shutdown()
        cluster.shutdown()
        rate = (len(finish_times) - 1) / (finish_times[-1] - finish_times[0])
        longest = max(later - earlier for earlier, later in pairwise(finish_times))
        load = os.getloadavg()[0]
        print(
            f"{workers} worker{'s' * (workers > 1)}: {rate:.2f} rollouts per second "
            f"({options.rollouts} of {options.policy}, one node each, "
            f"longest pause {longest:.1f} s, load {load:.1f} on {os.cpu_count()} processors)",
            flush=True,
        )


def _play(rollouts: int, policy: str, workers: int) -> list[float]:
    """Return the completion time of each episode."""
    plans = [EpisodePlan(scenario="vendor_onboarding", seed=seed, chaos=1, policy=policy) for seed in range(rollouts)]
    finish_times: list[float] = []

    def on_played(_: PlayedEpisode) -> None:
        finish_times.append(time.monotonic())

    play_on_cluster("auto", plans, workers=workers, on_played=on_played)
    return finish_times


if __name__ == "__main__":
    main()
