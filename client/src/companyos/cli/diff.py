"""`companyos diff`: what an episode changed, row by row."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table

from companyos.cli.session import (
    DEFAULT_URL,
    EpisodeArgument,
    JsonOption,
    RunningUrlOption,
    TokenOption,
    live_episode,
    running_server,
)
from companyos.cli.terminal import OUT, clear_errors, print_json, shown

if TYPE_CHECKING:
    from companyos.contract import EpisodeDiff, RowDiff

_MARKS = {"new": ("+", "green"), "changed": ("~", "yellow"), "gone": ("-", "red")}
_MOST_CHARS = 200
"""How much of a long text is shown; --json tells all of it."""


def diff(
    episode: EpisodeArgument = None,
    from_: Annotated[int, typer.Option("--from", min=0, metavar="STEP", help="After which step.")] = 0,
    to: Annotated[int | None, typer.Option(min=0, metavar="STEP", help="Up to which; the last one without.")] = None,
    as_json: JsonOption = False,
    url: RunningUrlOption = DEFAULT_URL,
    token: TokenOption = None,
) -> None:
    """Show the rows that differ between two steps of an episode, for each service and table.

    Step 0 is the first morning, before anything was done. What time brought
    by itself is shown like what the agent did.

    Examples:

      [cyan]companyos diff[/]                        all of the one live episode
      [cyan]companyos diff main --from 4 --to 5[/]   what step 5 did
      [cyan]companyos diff main --json[/]
    """
    with clear_errors():
        found = asyncio.run(_fetch(url, token, episode, from_, to))
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        _print(found)


async def _fetch(url: str, token: str | None, episode: str | None, from_: int, to: int | None) -> EpisodeDiff:
    async with running_server(url, token).trainer() as trainer:
        return await trainer.diff(await live_episode(trainer, episode), from_=from_, to=to)


def _print(found: EpisodeDiff) -> None:
    counted: Counter[str] = Counter()
    for service, tables in sorted(found.services.items()):
        for table, rows in sorted(tables.items()):
            if not rows:
                continue
            OUT.print(f"[bold]{shown(service)}[/] [dim]{shown(table)}[/]")
            for key, row in rows.items():
                counted[_kind(row)] += 1
                print_row(key, row)
            OUT.print()
    told = ", ".join(f"{counted[kind]} {kind}" for kind in _MARKS if counted[kind]) or "no row differs"
    OUT.print(f"[dim]steps {found.from_} to {found.to}:[/] {told}")


def _kind(row: RowDiff) -> str:
    if row.before is None:
        return "new"
    return "gone" if row.after is None else "changed"


def print_row(key: str, row: RowDiff) -> None:
    """Print a row with the columns that say something."""
    mark, colour = _MARKS[_kind(row)]
    OUT.print(Padding(f"[{colour}]{mark} {shown(key)}[/]", (0, 0, 0, 2), expand=False))
    columns = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
    columns.add_column(style="dim", no_wrap=True)
    columns.add_column(overflow="fold")
    for name, told in _columns(row):
        columns.add_row(shown(name), told)
    if columns.row_count:
        OUT.print(Padding(columns, (0, 0, 0, 6), expand=False))


def _columns(row: RowDiff) -> Iterator[tuple[str, str]]:
    """Yield the columns that say something: those that changed, or those of the row that came or went."""
    before, after = row.before or {}, row.after or {}
    for name in {**before, **after}:
        was, is_ = before.get(name), after.get(name)
        if was == is_:
            continue
        if row.before is None:
            yield name, f"[green]{_told(is_)}[/]"
        elif row.after is None:
            yield name, f"[red]{_told(was)}[/]"
        else:
            yield name, f"[red]{_told(was)}[/] [dim]→[/] [green]{_told(is_)}[/]"


def _told(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split()) if isinstance(value, str) else text
    cut = text if len(text) <= _MOST_CHARS else text[: _MOST_CHARS - 1] + "…"
    return shown(cut) if cut else '""'
