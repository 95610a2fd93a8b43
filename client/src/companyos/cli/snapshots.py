"""`companyos snapshot`, `restore` and `fork`: save, restore and copy episodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from companyos.cli.connection import (
    DEFAULT_URL,
    SNAPSHOT_CHARS_SHOWN,
    EpisodeArgument,
    JsonOption,
    RunningUrlOption,
    TokenOption,
    connect_to,
    resolve_episode_id,
    resolve_snapshot_id,
)
from companyos.cli.results import format_reward
from companyos.cli.terminal import (
    ERR,
    OUT,
    USAGE_ERROR,
    data_table,
    fail,
    format_time,
    id_column_width,
    plain_table,
    print_json,
    report_errors,
    sanitize,
)

if TYPE_CHECKING:
    from companyos.contract import CompanyOSState, OpenedEpisode, SnapshotInfo
    from companyos.trainer import Trainer


def snapshot(
    episode: EpisodeArgument = None,
    is_listing: Annotated[
        bool, typer.Option("--list", "-l", help="List the snapshots of all episodes, or of one.")
    ] = False,
    delete: Annotated[str | None, typer.Option(metavar="ID", help="Delete a snapshot.")] = None,
    as_json: JsonOption = False,
    url: RunningUrlOption = DEFAULT_URL,
    token: TokenOption = None,
) -> None:
    """Save the state of an episode after its last step, and print the snapshot id.

    A snapshot contains databases, clock, score and scheduled chaos: a restored
    or forked episode continues exactly like the original. Snapshots are kept
    until deleted. A unique prefix of the id is enough.

    Examples:

      [cyan]companyos snapshot[/]            the only live episode
      [cyan]companyos snapshot main[/]
      [cyan]companyos snapshot --list[/]
      [cyan]companyos snapshot --delete 3f9c2a[/]
    """
    if delete is not None and (episode is not None or is_listing):
        fail("--delete cannot be combined with other options or an episode", USAGE_ERROR)
    with report_errors():
        server = connect_to(url, token)
        if delete is not None:
            deleted = server.ask(lambda trainer: _delete(trainer, delete))
            ERR.print(f"[dim]deleted[/] {deleted}", soft_wrap=True)
        elif is_listing:
            listed = server.ask(lambda trainer: trainer.snapshots())
            selected = [info for info in listed if episode in (None, info.episode_id)]
            _print_list(selected, of=episode, as_json=as_json)
        else:
            _print_snapshot(server.ask(lambda trainer: _create(trainer, episode)), as_json=as_json)


async def _create(trainer: Trainer, episode: str | None) -> SnapshotInfo:
    return await trainer.snapshot(await resolve_episode_id(trainer, episode))


async def _delete(trainer: Trainer, snapshot_id: str) -> str:
    full_id = await resolve_snapshot_id(trainer, snapshot_id)
    await trainer.delete_snapshot(full_id)
    return full_id


def _print_snapshot(info: SnapshotInfo, *, as_json: bool) -> None:
    if as_json:
        print_json(info)
        return
    typer.echo(info.id)
    ERR.print(
        f"[dim]{sanitize(info.episode_id)} at step {info.step}, {format_time(info.now)}, return[/] "
        f"{format_reward(info.return_)}",
        soft_wrap=True,
    )


def _print_list(listed: list[SnapshotInfo], *, of: str | None, as_json: bool) -> None:
    if as_json:
        print_json(listed)
        return
    if not listed:
        OUT.print(f"[dim]no snapshots{f' of {sanitize(of)}' if of else ''}[/]")
        return
    table = data_table()
    table.add_column("snapshot", style="bold cyan", no_wrap=True)
    table.add_column("of episode", overflow="fold", min_width=id_column_width(info.episode_id for info in listed))
    table.add_column("scenario", overflow="ellipsis")
    for number in ("seed", "step", "return"):
        table.add_column(number, justify="right", no_wrap=True)
    table.add_column("now", no_wrap=True)
    for info in listed:
        table.add_row(
            info.id[:SNAPSHOT_CHARS_SHOWN],
            sanitize(info.episode_id),
            sanitize(info.scenario),
            str(info.seed),
            str(info.step),
            format_reward(info.return_),
            format_time(info.now),
        )
    OUT.print(table)


def restore(
    first: EpisodeArgument = None,
    second: Annotated[
        str | None, typer.Argument(metavar="SNAPSHOT", help="Snapshot id, or a unique prefix of it.")
    ] = None,
    url: RunningUrlOption = DEFAULT_URL,
    token: TokenOption = None,
) -> None:
    """Restore an episode to its own snapshot, or to one of an episode with the same origin.

    Databases, clock, score and steps return to those of the snapshot; later
    changes are lost. The episode token stays valid. Use
    [cyan]companyos fork[/] to open a snapshot of an unrelated episode.

    Examples:

      [cyan]companyos restore 3f9c2a[/]        the only live episode
      [cyan]companyos restore main 3f9c2a[/]
      [cyan]companyos restore main 3f9c2a --url http://127.0.0.1:9000[/]
    """
    episode, snapshot = (None, first) if second is None else (first, second)
    if snapshot is None:
        fail("SNAPSHOT is required; `companyos snapshot --list` lists them", USAGE_ERROR)
    with report_errors():
        state = connect_to(url, token).ask(lambda trainer: _restore(trainer, episode, snapshot))
    OUT.print(
        f"[bold]{sanitize(str(state.episode_id))}[/] is at step {state.step_count} again, {format_time(state.now)}, "
        f"return {format_reward(state.return_)}",
        soft_wrap=True,
    )


async def _restore(trainer: Trainer, episode: str | None, snapshot: str) -> CompanyOSState:
    full_id = await resolve_snapshot_id(trainer, snapshot)
    return await trainer.restore(await resolve_episode_id(trainer, episode), full_id)


MAX_FORKS = 64


def fork(
    snapshot: Annotated[str, typer.Argument(metavar="SNAPSHOT", help="Snapshot id, or a unique prefix of it.")],
    count: Annotated[
        int,
        typer.Option(
            "--count", "-n", min=1, max=MAX_FORKS, help="Number of new episodes. Either all are created or none."
        ),
    ] = 1,
    as_json: JsonOption = False,
    url: RunningUrlOption = DEFAULT_URL,
    token: TokenOption = None,
) -> None:
    """Create new episodes from a snapshot and print the id and token of each.

    Each continues from the step of the snapshot exactly like the original.
    Step it by its id over HTTP, or continue it over the WebSocket with
    [cyan]reset(resume=TOKEN)[/].

    Examples:

      [cyan]companyos fork 3f9c2a[/]
      [cyan]companyos fork 3f9c2a --count 8[/]
      [cyan]companyos fork $(companyos snapshot main) --json[/]
    """
    with report_errors():
        forks = connect_to(url, token).ask(lambda trainer: _fork(trainer, snapshot, count))
    if as_json:
        print_json(forks)
        return
    table = plain_table()
    table.add_column("episode", style="bold cyan", overflow="fold")
    table.add_column("token", overflow="fold")
    for each in forks:
        table.add_row(sanitize(each.episode_id), sanitize(each.token))
    OUT.print(table)
    ERR.print("[dim]An episode without steps is dropped after the idle timeout.[/]", soft_wrap=True)


async def _fork(trainer: Trainer, snapshot: str, count: int) -> list[OpenedEpisode]:
    return await trainer.fork(await resolve_snapshot_id(trainer, snapshot), count)
