"""`companyos tasks export`: the tasks of the splits, for tools outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from typer.core import TyperCommand

from companyos.cli.session import LAST_CHAOS, Server, TokenOption, UrlOption, some_server
from companyos.cli.terminal import ERR, MISUSED, OUT, clear_errors, fail

if TYPE_CHECKING:
    from companyos.contract import ToolSpec
    from companyos.exports.rows import TaskRow

    Writer = Callable[[Path, Sequence[TaskRow], Sequence[ToolSpec]], list[Path]]

SPLITS = ("train", "validation", "test")


class Format(StrEnum):
    """What is written."""

    PARQUET = "parquet"
    JSONL = "jsonl"


def export(
    out: Annotated[Path, typer.Option(file_okay=False, help="The folder that is written to.")],
    fmt: Annotated[Format, typer.Option("--format", help=r"Parquet needs companyos\[parquet].")] = Format.PARQUET,
    split: Annotated[list[str] | None, typer.Option(help="All three; again for several.")] = None,
    scenario: Annotated[str | None, typer.Option(help="Only the tasks of this scenario.")] = None,
    chaos: Annotated[int | None, typer.Option(min=0, max=LAST_CHAOS, help="Only the tasks of this level.")] = None,
    count: Annotated[int | None, typer.Option("--count", "-n", min=1, help="How many of each split: all.")] = None,
    url: UrlOption = None,
    token: TokenOption = None,
) -> None:
    """Write the tasks of the splits as a dataset: what an agent is told and offered, and never a solution.

    Each task is begun once, so that a row holds its brief, its seed and its tools. Every row names the version of the
    task set and carries the canary.

    Examples:

      [cyan]companyos tasks export --out tasks[/]
      [cyan]companyos tasks export --out tasks --split test --format jsonl[/]
      [cyan]companyos tasks export --out few --scenario bug_escalation -n 5[/]
    """
    if unknown := set(split or ()) - set(SPLITS):
        fail(f"no split is called {min(unknown)!r}; there are {', '.join(SPLITS)}", MISUSED)
    write = _writer(fmt)
    with clear_errors(), some_server(url, token) as server:
        rows, tools = _read(server, split or SPLITS, scenario, chaos, count)
        for path in write(out, rows, tools):
            OUT.print(f"{path.stat().st_size:>12,} bytes  {escape(str(path))}", soft_wrap=True)
    OUT.print(f"\n[dim]{len(rows):,} tasks of the set {rows[0].task_set}[/]")


def _writer(fmt: Format) -> Writer:
    """Return what writes a format; what it needs is looked for before any task is begun."""
    from companyos.exports import tables

    if fmt is Format.JSONL:
        return tables.write_jsonl
    try:
        tables.check_parquet()
    except ImportError as missing:
        fail(str(missing))
    return tables.write_parquet


def _read(
    server: Server, splits: Sequence[str], scenario: str | None, chaos: int | None, count: int | None
) -> tuple[list[TaskRow], list[ToolSpec]]:
    import asyncio

    from companyos.exports.rows import read_rows, read_tasks, read_tools

    async def read(progress: Progress) -> tuple[list[TaskRow], list[ToolSpec]]:
        tasks = await read_tasks(server.url, splits, scenario=scenario, chaos=chaos, count=count, token=server.token)
        if not tasks:
            fail(f"no task is of the scenario {scenario!r}; `companyos tasks` lists the scenarios", MISUSED)
        bar = progress.add_task("Reading tasks", total=len(tasks))
        rows = await read_rows(server.url, tasks, token=server.token, on_read=lambda: progress.advance(bar))
        return rows, await read_tools(server.url, token=server.token)

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=ERR, transient=True) as progress:
        return asyncio.run(read(progress))


class TasksCommand(TyperCommand):
    """`companyos tasks`, which is `companyos tasks export` where that is its first word."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Return the context of the command that is meant."""
        if args[:1] != ["export"]:
            return super().make_context(info_name, args, parent, **extra)
        return _EXPORT.make_context(f"{info_name} export", args[1:], parent, **extra)


def _command() -> TyperCommand:
    app = typer.Typer(rich_markup_mode="rich", add_completion=False)
    app.command("export")(export)
    return cast(TyperCommand, typer.main.get_command(app))


_EXPORT = _command()
