"""`companyos snapshot`: keep an episode as it stands; list and forget what is kept."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from companyos.cli.results import signed
from companyos.cli.session import (
    DEFAULT_URL,
    SNAPSHOT_CHARS_SHOWN,
    EpisodeArgument,
    JsonOption,
    RunningUrlOption,
    TokenOption,
    full_snapshot_id,
    live_episode,
    running_server,
)
from companyos.cli.terminal import (
    ERR,
    MISUSED,
    OUT,
    clear_errors,
    data_table,
    day_and_time,
    fail,
    id_width,
    print_json,
    shown,
)

if TYPE_CHECKING:
    from companyos.contract import SnapshotInfo


def snapshot(
    episode: EpisodeArgument = None,
    is_listing: Annotated[bool, typer.Option("--list", "-l", help="List what is kept, of all or of one.")] = False,
    delete: Annotated[str | None, typer.Option(metavar="ID", help="Forget a snapshot.")] = None,
    as_json: JsonOption = False,
    url: RunningUrlOption = DEFAULT_URL,
    token: TokenOption = None,
) -> None:
    """Keep an episode as it stands after its last step, and print the snapshot's id.

    Databases, clock, score and the chaos still to come are kept: what is
    restored or forked goes on as the episode would have. A snapshot lives
    until it is deleted. Its id may be shortened where it stays clear.

    Examples:

      [cyan]companyos snapshot[/]            of the one live episode
      [cyan]companyos snapshot main[/]
      [cyan]companyos snapshot --list[/]
      [cyan]companyos snapshot --delete 3f9c2a[/]
    """
    if delete is not None and (episode is not None or is_listing):
        fail("--delete ID stands alone", MISUSED)
    with clear_errors():
        if delete is not None:
            deleted = asyncio.run(_delete(url, token, delete))
            ERR.print(f"[dim]deleted[/] {deleted}", soft_wrap=True)
        elif is_listing:
            _print_list(asyncio.run(_list(url, token, episode)), of=episode, as_json=as_json)
        else:
            _print_taken(asyncio.run(_take(url, token, episode)), as_json=as_json)


async def _take(url: str, token: str | None, episode: str | None) -> SnapshotInfo:
    async with running_server(url, token).trainer() as trainer:
        return await trainer.snapshot(await live_episode(trainer, episode))


async def _list(url: str, token: str | None, episode: str | None) -> list[SnapshotInfo]:
    async with running_server(url, token).trainer() as trainer:
        listed = await trainer.snapshots()
    return [taken for taken in listed if episode in (None, taken.episode_id)]


async def _delete(url: str, token: str | None, snapshot_id: str) -> str:
    async with running_server(url, token).trainer() as trainer:
        found = await full_snapshot_id(trainer, snapshot_id)
        await trainer.delete_snapshot(found)
        return found


def _print_taken(taken: SnapshotInfo, *, as_json: bool) -> None:
    if as_json:
        print_json(taken.model_dump(mode="json"))
        return
    typer.echo(taken.id)
    ERR.print(
        f"[dim]{shown(taken.episode_id)} at step {taken.step}, {day_and_time(taken.now)}, return[/] "
        f"{signed(taken.return_)}",
        soft_wrap=True,
    )


def _print_list(listed: list[SnapshotInfo], *, of: str | None, as_json: bool) -> None:
    if as_json:
        print_json([taken.model_dump(mode="json") for taken in listed])
        return
    if not listed:
        OUT.print(f"[dim]no snapshot {f'of {shown(of)} ' if of else ''}is kept[/]")
        return
    table = data_table()
    table.add_column("snapshot", style="bold cyan", no_wrap=True)
    table.add_column("of episode", overflow="fold", min_width=id_width(taken.episode_id for taken in listed))
    table.add_column("scenario", overflow="ellipsis")
    for number in ("seed", "step", "return"):
        table.add_column(number, justify="right", no_wrap=True)
    table.add_column("now", no_wrap=True)
    for taken in listed:
        table.add_row(
            taken.id[:SNAPSHOT_CHARS_SHOWN],
            shown(taken.episode_id),
            shown(taken.scenario),
            str(taken.seed),
            str(taken.step),
            signed(taken.return_),
            day_and_time(taken.now),
        )
    OUT.print(table)
