"""Playing many episodes under a progress bar, as `eval` and `demo` do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from companyos.cli.session import Server
from companyos.cli.terminal import ERR, FAILED, INTERRUPTED, MISUSED, fail
from companyos.extras import installing

if TYPE_CHECKING:
    from companyos.runner import EpisodePlan, PlayedEpisode
    from companyos.runner.batch import PolicyMaker


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster in place of a server: each of its workers has an enterprise of its own."""

    address: str
    workers: int | None = None


def check_cluster(address: str | None, *, workers: int | None, url: str | None, dry_run: bool) -> None:
    """End the command where the options of a cluster do not fit, or Ray is not there."""
    import importlib.util

    if address is None:
        if workers is not None:
            fail("--workers belongs to --cluster; --parallel says how many episodes one server plays at once", MISUSED)
        return
    if url is not None:
        fail("the workers of a cluster bring their own enterprises: --cluster or --url, not both", MISUSED)
    if dry_run:
        fail("a dry run is played on this machine: --cluster or --dry-run, not both", MISUSED)
    if importlib.util.find_spec("ray") is None:
        fail(f"ray is not installed: {installing('ray')}")


@dataclass(frozen=True)
class Stop:
    """Why a run ended early: somebody pressed Ctrl-C, or an agent could not play; `reason` says why."""

    code: int
    reason: str | None = None


def play_with_bar(
    player: Server | Cluster,
    plans: list[EpisodePlan],
    *,
    parallel: int,
    out: Path | None = None,
    make_policy: PolicyMaker | None = None,
    resume: bool = False,
    overwrite: bool = False,
) -> tuple[list[PlayedEpisode], Stop | None]:
    """Play the plans under a progress bar; return what was played, and what ended it early."""
    import asyncio

    from companyos.policies import CannotPlay, load_policy
    from companyos.runner import play_all

    played: list[PlayedEpisode] = []
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("[green]{task.fields[successes]} succeeded[/]"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=ERR, transient=True) as progress:
        bar = progress.add_task("Playing", total=len(plans), successes=0)

        def on_played(episode: PlayedEpisode) -> None:
            played.append(episode)
            successes = sum(each.record.success for each in played)
            progress.update(bar, advance=1, successes=successes, description=f"Playing {episode.plan.policy}")

        make_policy = make_policy or load_policy
        try:
            if isinstance(player, Cluster):
                from companyos.cluster import play_on_cluster

                return play_on_cluster(
                    player.address,
                    plans,
                    workers=player.workers,
                    parallel=parallel,
                    out=out,
                    on_played=on_played,
                    make_policy=make_policy,
                    resume=resume,
                    overwrite=overwrite,
                ), None
            playing = play_all(
                player.url,
                plans,
                parallel=parallel,
                out=out,
                on_played=on_played,
                token=player.token,
                make_policy=make_policy,
                resume=resume,
                overwrite=overwrite,
            )
            return asyncio.run(playing), None
        except KeyboardInterrupt:
            return played, Stop(INTERRUPTED)
        except CannotPlay as reason:
            return played, Stop(FAILED, str(reason))
