"""Plays a run on a Ray cluster: streams plans to workers and episodes back, and replays those of a lost node."""

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from companyos.cluster.parquet import TrajectoryTable
from companyos.cluster.worker import PLAN, RESULT, ClusterResult, ClusterWorker
from companyos.extras import require_extra
from companyos.policies import load_policy
from companyos.runner import EpisodePlan, PlayedEpisode
from companyos.runner.batch import EpisodeObserver, PolicyFactory, run_folder

PARALLEL = 4
"""Concurrent episodes of one worker; a lost node loses at most this many."""

AUTO = "auto"
"""Address that selects the cluster running on this machine, or starts one for the run."""

_ADDRESS_VARIABLE = "RAY_ADDRESS"
_QUIET_ENVIRONMENT = {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_BACKEND_LOG_LEVEL": "fatal"}
"""Settings that keep Ray's output out of a terminal with a progress bar."""


class ClusterUnavailableError(ConnectionError):
    """Raised if no Ray cluster is reachable at the address."""


def play_on_cluster(
    address: str,
    plans: Sequence[EpisodePlan],
    *,
    workers: int | None = None,
    parallel: int = PARALLEL,
    out: Path | None = None,
    on_played: EpisodeObserver | None = None,
    make_policy: PolicyFactory = load_policy,
    resume: bool = False,
    overwrite: bool = False,
    episode_time_s: float | None = None,
    on_started: Callable[[int], None] | None = None,
) -> list[PlayedEpisode]:
    """Play every plan on the cluster at an address and return the episodes in plan order.

    `auto` is the cluster in RAY_ADDRESS, or the one that runs on this machine. If there is none, a local one is started
    for this run, and `on_started` receives the number of its CPUs. Starts at most `workers` servers, by default one per
    CPU of the cluster. With `out` it writes the same folder as a run on one machine, plus
    `trajectories/trajectories.parquet`. Raises ImportError without Ray, ClusterUnavailableError,
    PolicyUnavailableError and ResetRejectedError.
    """
    with require_extra("ray", "ray"):
        import ray  # noqa: F401
    folder = run_folder(out, plans, make_policy, resume=resume, overwrite=overwrite)
    played: dict[EpisodePlan, PlayedEpisode] = {}
    kept = folder.kept if folder is not None else {}
    for plan, record in kept.items():
        played[plan] = PlayedEpisode(plan=plan, record=record)
        if on_played is not None:
            on_played(played[plan])
    remaining = [plan for plan in plans if plan not in kept]
    table = TrajectoryTable(out, list(kept.values())) if out is not None else None
    try:
        with _cluster(address, on_started) if remaining else nullcontext():
            for result in _stream_results(
                remaining,
                make_policy,
                workers=workers,
                parallel=parallel,
                keeps_evidence=out is not None,
                episode_time_s=episode_time_s,
            ):
                plan = result.played.plan
                if plan in played:
                    raise AssertionError(f"episode {plan.name} was returned twice")
                played[plan] = result.played
                if folder is not None and table is not None:
                    folder.add(result.played, result.evidence)
                    table.add(result.played, result.node)
                if on_played is not None:
                    on_played(result.played)
    finally:
        if folder is not None:
            folder.close()
        if table is not None:
            table.close()
    return [played[plan] for plan in plans]


def _stream_results(
    remaining: Sequence[EpisodePlan],
    make_policy: PolicyFactory,
    *,
    workers: int | None,
    parallel: int,
    keeps_evidence: bool,
    episode_time_s: float | None,
) -> Iterator[ClusterResult]:
    """Yield the result of each plan as it arrives."""
    import ray

    if not remaining:
        return
    rows = [{PLAN: pickle.dumps(plan)} for plan in remaining]
    batches = -(-len(rows) // parallel)
    max_workers = min(workers or max(1, int(ray.cluster_resources().get("CPU", 1))), batches)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    results = ray.data.from_items(rows, override_num_blocks=batches).map_batches(
        ClusterWorker,
        batch_size=parallel,
        batch_format="numpy",
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=max_workers, initial_size=max_workers),
        num_cpus=1,
        fn_constructor_args=(make_policy,),
        fn_constructor_kwargs={"keeps_evidence": keeps_evidence, "episode_time_s": episode_time_s},
    )
    for row in results.iter_rows():
        result = pickle.loads(row[RESULT])  # noqa: S301 - from a worker of this run
        if isinstance(result, Exception):
            raise result
        yield result


@contextmanager
def _cluster(address: str, on_started: Callable[[int], None] | None) -> Iterator[None]:
    """Connect to a cluster without log output, and disconnect at the end; reuse an existing connection."""
    for name, value in _QUIET_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    import ray
    import ray.data  # sets its log levels

    if ray.is_initialized():
        yield
        return
    try:
        is_started = _connect(address)
    except Exception as error:  # noqa: BLE001 - Ray raises Exception itself if its processes do not start
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ClusterUnavailableError(f"cannot connect to a Ray cluster at {address!r}: {first}") from None
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        if is_started and on_started is not None:
            on_started(int(ray.cluster_resources().get("CPU", 1)))
        yield
    finally:
        ray.shutdown()


def _connect(address: str) -> bool:
    """Connect to a cluster; return whether this call started it. Such a cluster ends with the connection."""
    import ray

    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        ray.init(address=address, **quiet)
    except ConnectionError:
        if address != AUTO or os.environ.get(_ADDRESS_VARIABLE):
            raise
    else:
        return False
    ray.init(address="local", include_dashboard=False, **quiet)
    return True
