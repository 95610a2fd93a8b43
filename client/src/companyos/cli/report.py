"""`companyos report`: says how often episodes of runs succeeded, and why the others failed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table as RichTable

from companyos.cli.terminal import ERR, OUT, USAGE_ERROR, fail, plain_table, pluralize, report_errors, sanitize
from companyos.cli.view import installed_rescorer, report_faults, usage_errors

if TYPE_CHECKING:
    from companyos.report import Report
    from companyos.report.tables import Table
    from companyos.viewer.stored_run import StoredRun

SUFFIXES = (".html", ".md", ".json")


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders written by `eval --out`.")],
    out: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="Write the report to this .html, .md or .json file instead of the terminal."),
    ] = None,
) -> None:
    """Report on stored runs: success by scenario, level, size and fault, and why episodes failed.

    Reasons are ranked by the check that was the primary failure, each with
    episodes and the step that decided them. In the HTML file they are links to
    that step. With several runs or policies, the first is compared with each of
    the others on the tasks that both played.

    Examples:

      [cyan]companyos eval --policy worker2 --split test -n 40 --out runs/a[/]  create a run
      [cyan]companyos report runs/a[/]                                     in the terminal
      [cyan]companyos report runs/a --out report.html[/]                   one file to share
      [cyan]companyos report runs/a runs/b --out report.md[/]              compare two runs

    The exit status is 2 if a record could not be read; the rest is reported.
    """
    if out is not None and out.suffix not in SUFFIXES:
        fail(f"--out must end in {', '.join(SUFFIXES)}; got {str(out)!r}", USAGE_ERROR)
    from companyos.openenv_preload import preload_openenv

    preload_openenv()
    from companyos.report import build_report
    from companyos.runner.run_reader import planned_episodes

    with report_errors(), usage_errors():
        stored = _read(runs)
        faults = [f"{name}/{fault}" for name, one in stored.items() for fault in one.faults]
        records = {name: one.records for name, one in stored.items()}
        if not any(records.values()):
            fail("the runs have no readable episodes", USAGE_ERROR)
        for name, one in stored.items():
            _note_missing(name, len(one.records), planned_episodes(one.path))
        found = build_report(records, faults)
        folders = {name: str(one.path) for name, one in stored.items()}
        if len(found.subjects) > 1 and not found.comparisons:
            ERR.print("note: no other policy played a task of the first one, so none is compared", style="yellow")
        if out is None:
            _print(found, folders)
        else:
            with ERR.status("Writing the report ..."):
                out.write_text(_render(found, stored, folders, out.suffix), encoding="utf-8")
            episodes = pluralize(sum(map(len, records.values())), "episode")
            OUT.print(f"[dim]report on {episodes} in[/] {sanitize(str(out))}", soft_wrap=True)
        report_faults(faults)


def _note_missing(run: str, played: int, planned: int | None) -> None:
    """Print a note if a run is incomplete."""
    if planned is not None and played < planned:
        note = f"note: {run} has {played:,} of {planned:,} episodes; continue it with `companyos eval --resume`"
        ERR.print(sanitize(note), style="yellow", soft_wrap=True)


def _read(paths: list[Path]) -> dict[str, StoredRun]:
    """Return the runs by their names; runs of one name get their whole paths."""
    from companyos.viewer.stored_run import StoredRun

    titles = [StoredRun(path).title for path in paths]
    names = [title if titles.count(title) == 1 else str(path) for title, path in zip(titles, paths, strict=True)]
    return {name: StoredRun(path) for name, path in zip(names, paths, strict=True)}


def _render(report: Report, runs: Mapping[str, StoredRun], folders: Mapping[str, str], suffix: str) -> str:
    from companyos.report.page import report_page
    from companyos.report.tables import markdown_of

    if suffix == ".json":
        return report.model_dump_json(indent=2) + "\n"
    return markdown_of(report, folders) if suffix == ".md" else report_page(report, runs, installed_rescorer())


def _print(report: Report, folders: Mapping[str, str]) -> None:
    from companyos.report.tables import examples_of, tables_of, view_command

    for table in tables_of(report):
        OUT.print(_terminal_table(table))
        OUT.print()
        examples = examples_of(table)
        for one in examples:
            OUT.print(f"[dim]{sanitize(one.why)}[/]\n  [cyan]{sanitize(view_command(one, folders))}[/]", soft_wrap=True)
        if examples:
            OUT.print()


def _terminal_table(table: Table) -> RichTable:
    from companyos.report.tables import format_cell, plain_columns

    drawn, kept = plain_table(sanitize(table.title)), plain_columns(table)
    for at in kept:
        drawn.add_column(table.columns[at], justify="left" if at < table.words else "right", overflow="fold")
    for row in table.rows:
        drawn.add_row(*(sanitize(format_cell(row[at])) for at in kept))
    return drawn
