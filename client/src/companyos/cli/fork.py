"""`companyos fork`: a snapshot opened as new episodes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from companyos.cli.session import (
    DEFAULT_URL,
    JsonOption,
    RunningUrlOption,
    TokenOption,
    full_snapshot_id,
    running_server,
)
from companyos.cli.terminal import ERR, OUT, clear_errors, plain_table, print_json, shown

if TYPE_CHECKING:
    from companyos.contract import OpenedEpisode

MOST_FORKS = 64


def fork(
    snapshot: Annotated[str, typer.Argument(metavar="SNAPSHOT", help="Its id, or the start of it.")],
    count: Annotated[int, typer.Option("--count", "-n", min=1, max=MOST_FORKS, help="How many; all or none.")] = 1,
    as_json: JsonOption = False,
    url: RunningUrlOption = DEFAULT_URL,
    token: TokenOption = None,
) -> None:
    """Open a snapshot as new episodes and print the id and the token of each.

    Each goes on from the step of the snapshot exactly as the original would
    have. It is stepped by its id over plain HTTP, or continued over the
    WebSocket with [cyan]reset(resume=TOKEN)[/].

    Examples:

      [cyan]companyos fork 3f9c2a[/]
      [cyan]companyos fork 3f9c2a --count 8[/]
      [cyan]companyos fork $(companyos snapshot main) --json[/]
    """
    with clear_errors():
        opened = asyncio.run(_fork(url, token, snapshot, count))
    if as_json:
        print_json([each.model_dump(mode="json") for each in opened])
        return
    table = plain_table()
    table.add_column("episode", style="bold cyan", overflow="fold")
    table.add_column("token", overflow="fold")
    for each in opened:
        table.add_row(shown(each.episode_id), shown(each.token))
    OUT.print(table)
    ERR.print("[dim]An episode that nobody goes on with is dropped after a while.[/]", soft_wrap=True)


async def _fork(url: str, token: str | None, snapshot: str, count: int) -> list[OpenedEpisode]:
    async with running_server(url, token).trainer() as trainer:
        return await trainer.fork(await full_snapshot_id(trainer, snapshot), count)
