"""`companyos restore`: an episode back at a snapshot."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from companyos.cli.results import signed
from companyos.cli.session import (
    DEFAULT_URL,
    EpisodeArgument,
    RunningUrlOption,
    TokenOption,
    full_snapshot_id,
    live_episode,
    running_server,
)
from companyos.cli.terminal import MISUSED, OUT, clear_errors, day_and_time, fail, shown

if TYPE_CHECKING:
    from companyos.contract import CompanyOSState


def restore(
    first: EpisodeArgument = None,
    second: Annotated[str | None, typer.Argument(metavar="SNAPSHOT", help="Its id, or the start of it.")] = None,
    url: RunningUrlOption = DEFAULT_URL,
    token: TokenOption = None,
) -> None:
    """Put an episode back to a snapshot of itself, or of one that it was forked from or with.

    What happened since is gone: databases, clock, score and steps are those
    of the snapshot. Whoever plays the episode goes on playing it. A snapshot
    of another episode is opened with [cyan]companyos fork[/].

    Examples:

      [cyan]companyos restore 3f9c2a[/]        the one live episode
      [cyan]companyos restore main 3f9c2a[/]
      [cyan]companyos restore main 3f9c2a --url http://127.0.0.1:9000[/]
    """
    episode, snapshot = (None, first) if second is None else (first, second)
    if snapshot is None:
        fail("SNAPSHOT is missing; `companyos snapshot --list` lists them", MISUSED)
    with clear_errors():
        state = asyncio.run(_restore(url, token, episode, snapshot))
    OUT.print(
        f"[bold]{shown(str(state.episode_id))}[/] is at step {state.step_count} again, {day_and_time(state.now)}, "
        f"return {signed(state.return_)}",
        soft_wrap=True,
    )


async def _restore(url: str, token: str | None, episode: str | None, snapshot: str) -> CompanyOSState:
    async with running_server(url, token).trainer() as trainer:
        found = await full_snapshot_id(trainer, snapshot)
        return await trainer.restore(await live_episode(trainer, episode), found)
