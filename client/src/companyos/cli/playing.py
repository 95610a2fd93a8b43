"""Playing many episodes under a progress bar, as `eval` and `demo` do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from companyos.cli.session import Server
from companyos.cli.terminal import ERR, FAILED, INTERRUPTED

if TYPE_CHECKING:
    from companyos.runner import EpisodePlan, PlayedEpisode
    from companyos.runner.batch import PolicyMaker


@dataclass(frozen=True)
class Stop:
    """Why a run ended early: somebody pressed Ctrl-C, or an agent could not play; `reason` says why."""

    code: int
    reason: str | None = None


def play_with_bar(
    server: Server,
    plans: list[EpisodePlan],
    *,
    parallel: int,
    out: Path | None = None,
    make_policy: PolicyMaker | None = None,
    resume: bool = False,
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

        try:
            playing = play_all(
                server.url,
                plans,
                parallel=parallel,
                out=out,
                on_played=on_played,
                token=server.token,
                make_policy=make_policy or load_policy,
                resume=resume,
            )
            return asyncio.run(playing), None
        except KeyboardInterrupt:
            return played, Stop(INTERRUPTED)
        except CannotPlay as reason:
            return played, Stop(FAILED, str(reason))
