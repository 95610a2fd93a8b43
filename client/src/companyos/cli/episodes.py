"""`companyos episodes` and `companyos diff`: the live episodes and their row changes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table

from companyos.cli.connection import (
    DEFAULT_URL,
    EpisodeArgument,
    JsonOption,
    RunningUrlOption,
    TokenOption,
    connect_to,
    resolve_episode_id,
)
from companyos.cli.results import format_reward
from companyos.cli.terminal import OUT, data_table, format_time, id_column_width, print_json, report_errors, sanitize

if TYPE_CHECKING:
    from companyos.contract import CompanyOSState, EpisodeDiff, RowDiff
    from companyos.trainer import Trainer


def episodes(as_json: JsonOption = False, url: RunningUrlOption = DEFAULT_URL, token: TokenOption = None) -> None:
    """List the episodes on the server with task, steps taken, return and simulated time.

    An ended episode shows its outcome instead of the time, until the server
    removes it.

    Examples:

      [cyan]companyos episodes[/]
      [cyan]companyos episodes --url http://127.0.0.1:9000[/]
      [cyan]companyos episodes --json | jq -r '.\\[].episode_id'[/]
    """
    with report_errors():
        listed = connect_to(url, token).ask(lambda trainer: trainer.episodes())
    if as_json:
        print_json([episode.model_dump(mode="json", exclude={"token"}) for episode in listed])
    elif listed:
        _print_episodes(listed)
    else:
        OUT.print("[dim]no episode is live[/]")


def _print_episodes(listed: list[CompanyOSState]) -> None:
    table = data_table()
    width = id_column_width(episode.episode_id for episode in listed)
    table.add_column("episode", style="bold cyan", overflow="fold", min_width=width)
    table.add_column("scenario", overflow="ellipsis")
    for number in ("seed", "chaos", "step", "return"):
        table.add_column(number, justify="right", no_wrap=True)
    table.add_column("now", no_wrap=True)
    for episode in listed:
        ended = f"[dim]{episode.outcome}[/]" if episode.done else None
        table.add_row(
            sanitize(str(episode.episode_id)),
            sanitize(episode.scenario or ""),
            str(episode.seed),
            str(episode.chaos),
            str(episode.step_count),
            format_reward(episode.return_),
            ended or format_time(episode.now),
        )
    OUT.print(table)


_MARKS = {"new": ("+", "green"), "changed": ("~", "yellow"), "gone": ("-", "red")}
_MAX_CHARS = 200
"""Number of characters shown of a long text; --json prints all of it."""


def diff(
    episode: EpisodeArgument = None,
    from_: Annotated[
        int, typer.Option("--from", min=0, metavar="STEP", help="First step of the range; changes after it are shown.")
    ] = 0,
    to: Annotated[
        int | None, typer.Option(min=0, metavar="STEP", help="Last step of the range. Default: the latest step.")
    ] = None,
    as_json: JsonOption = False,
    url: RunningUrlOption = DEFAULT_URL,
    token: TokenOption = None,
) -> None:
    """Show the rows that differ between two steps of an episode, for each service and table.

    Step 0 is the state after reset. Changes by simulated colleagues and
    scheduled events are included.

    Examples:

      [cyan]companyos diff[/]                        all changes of the only live episode
      [cyan]companyos diff main --from 4 --to 5[/]   changes of step 5
      [cyan]companyos diff main --json[/]
    """

    async def read(trainer: Trainer) -> EpisodeDiff:
        return await trainer.diff(await resolve_episode_id(trainer, episode), from_=from_, to=to)

    with report_errors():
        episode_diff = connect_to(url, token).ask(read)
    if as_json:
        print_json(episode_diff)
    else:
        _print_diff(episode_diff)


def _print_diff(episode_diff: EpisodeDiff) -> None:
    counts: Counter[str] = Counter()
    for service, tables in sorted(episode_diff.services.items()):
        for table, rows in sorted(tables.items()):
            if not rows:
                continue
            OUT.print(f"[bold]{sanitize(service)}[/] [dim]{sanitize(table)}[/]")
            for key, row in rows.items():
                counts[_change_kind(row)] += 1
                print_row_change(key, row)
            OUT.print()
    text = ", ".join(f"{counts[kind]} {kind}" for kind in _MARKS if counts[kind]) or "no rows differ"
    OUT.print(f"[dim]steps {episode_diff.from_} to {episode_diff.to}:[/] {text}")


def _change_kind(row: RowDiff) -> str:
    if row.before is None:
        return "new"
    return "gone" if row.after is None else "changed"


def print_row_change(key: str, row: RowDiff) -> None:
    """Print the changed columns of a row."""
    mark, colour = _MARKS[_change_kind(row)]
    OUT.print(Padding(f"[{colour}]{mark} {sanitize(key)}[/]", (0, 0, 0, 2), expand=False))
    columns = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
    columns.add_column(style="dim", no_wrap=True)
    columns.add_column(overflow="fold")
    for name, text in _changed_columns(row):
        columns.add_row(sanitize(name), text)
    if columns.row_count:
        OUT.print(Padding(columns, (0, 0, 0, 6), expand=False))


def _changed_columns(row: RowDiff) -> Iterator[tuple[str, str]]:
    """Yield the changed columns, or the non-empty columns of an added or deleted row."""
    before, after = row.before or {}, row.after or {}
    for name in {**before, **after}:
        was, is_ = before.get(name), after.get(name)
        if was == is_:
            continue
        if row.before is None:
            yield name, f"[green]{_format_value(is_)}[/]"
        elif row.after is None:
            yield name, f"[red]{_format_value(was)}[/]"
        else:
            yield name, f"[red]{_format_value(was)}[/] [dim]→[/] [green]{_format_value(is_)}[/]"


def _format_value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split()) if isinstance(value, str) else text
    cut = text if len(text) <= _MAX_CHARS else text[: _MAX_CHARS - 1] + "…"
    return sanitize(cut) if cut else '""'
