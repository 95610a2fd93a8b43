"""`companyos tasks export`: writes the tasks of the splits as datasets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from typer.core import TyperCommand

from companyos.cli.connection import (
    LARGEST_CHAOS,
    SPLITS,
    Server,
    TokenOption,
    UrlOption,
    check_split,
    connect_or_start,
)
from companyos.cli.tasks import fail_without_tasks, list_tasks
from companyos.cli.terminal import ERR, OUT, USAGE_ERROR, check_empty_folder, fail, pluralize, report_errors
from companyos.cli.tools import fetch_tools

if TYPE_CHECKING:
    from companyos.contract import ToolSpec
    from companyos.exports.task_rows import TaskWithTools

    Writer = Callable[[Path, Sequence[TaskWithTools], Sequence[ToolSpec]], list[Path]]


class Format(StrEnum):
    """Output formats."""

    PARQUET = "parquet"
    JSONL = "jsonl"
    HARBOR = "harbor"
    NEMO_GYM = "nemo-gym"


def export(
    out: Annotated[Path, typer.Option(file_okay=False, help="Output folder, new or empty.")],
    fmt: Annotated[
        Format,
        typer.Option(
            "--format",
            help=r"jsonl or parquet tables (parquet needs companyos\[parquet]), Harbor task folders, or NeMo Gym rows.",
        ),
    ] = Format.JSONL,
    split: Annotated[
        list[str] | None, typer.Option(help="Split to export. Repeat for several. Default: all three.")
    ] = None,
    scenario: Annotated[str | None, typer.Option(help="Only tasks of this scenario.")] = None,
    chaos: Annotated[
        int | None, typer.Option(metavar="LEVEL", min=0, max=LARGEST_CHAOS, help="Only tasks of this chaos level.")
    ] = None,
    count: Annotated[
        int | None, typer.Option("--count", "-n", min=1, help="Maximum number of tasks per split. Default: all.")
    ] = None,
    image: Annotated[
        str | None, typer.Option(help="Docker image for Harbor tasks. Default: companyos-env, built from deploy/space.")
    ] = None,
    url: UrlOption = None,
    token: TokenOption = None,
) -> None:
    """Write the tasks of the splits as a dataset of briefs and tools, without solutions.

    Each task is reset once to collect its brief, seed and tools. Rows contain
    the task set version and the canary.

    Examples:

      [cyan]companyos tasks export --out tasks[/]
      [cyan]companyos tasks export --out tasks --split test --format parquet[/]
      [cyan]companyos tasks export --out few --scenario bug_escalation -n 5[/]
      [cyan]companyos tasks export --out harbor --format harbor --split test -n 20[/]
      [cyan]companyos tasks export --out resources_servers/companyos/data --format nemo-gym[/]
    """
    splits = tuple(dict.fromkeys(split or SPLITS))
    for name in splits:
        check_split(name)
    if image is not None and fmt is not Format.HARBOR:
        fail("--image needs --format harbor", USAGE_ERROR)
    write = _make_writer(fmt, image)
    check_empty_folder(out)
    with report_errors(), connect_or_start(url, token) as server:
        offered = _read(server, splits, scenario, chaos, count)
        for path in write(out, offered, fetch_tools(server)):
            OUT.print(f"{path.stat().st_size:>12,} bytes  {escape(str(path))}", soft_wrap=True)
    OUT.print(f"\n[dim]{pluralize(len(offered), 'task')} of task set {offered[0].row.task_set}[/]")


def _make_writer(fmt: Format, image: str | None) -> Writer:
    """Return the writer of a format; its optional dependencies are checked before any task is reset."""
    if fmt is Format.HARBOR:
        from companyos.exports.harbor import IMAGE, write_harbor

        return lambda out, offered, _: write_harbor(out, offered, image=image or IMAGE)
    if fmt is Format.NEMO_GYM:
        from companyos.exports.nemo_gym import write_nemo_gym

        return lambda out, offered, _: write_nemo_gym(out, offered)
    from companyos.exports import tables

    if fmt is Format.PARQUET:
        try:
            tables.check_parquet()
        except ImportError as error:
            fail(str(error))
    write = tables.write_jsonl if fmt is Format.JSONL else tables.write_parquet
    return lambda out, offered, tools: write(out, [row.row for row in offered], tools)


def _read(
    server: Server, splits: Sequence[str], scenario: str | None, chaos: int | None, count: int | None
) -> list[TaskWithTools]:
    """Return up to `count` tasks of each split with their tools; end the command if there are none."""
    import asyncio

    from companyos.exports.task_rows import read_tasks_with_tools

    levels = () if chaos is None else (chaos,)
    tasks = [task for split in splits for task in list_tasks(server, split, scenario, levels)[:count]]
    if not tasks:
        fail_without_tasks(scenario, levels)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=ERR, transient=True) as progress:
        bar = progress.add_task("Reading tasks", total=len(tasks))
        reading = read_tasks_with_tools(server.url, tasks, token=server.token, on_read=lambda: progress.advance(bar))
        return asyncio.run(reading)


class TasksCommand(TyperCommand):
    """Command `companyos tasks` with the subcommand `export`."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Return the context of `tasks`, or of `export` if that is the first argument."""
        if args[:1] != ["export"]:
            return super().make_context(info_name, args, parent, **extra)
        return _EXPORT_COMMAND.make_context(f"{info_name} export", args[1:], parent, **extra)


def _export_command() -> TyperCommand:
    app = typer.Typer(rich_markup_mode="rich", add_completion=False)
    app.command("export")(export)
    return cast(TyperCommand, typer.main.get_command(app))


_EXPORT_COMMAND = _export_command()
