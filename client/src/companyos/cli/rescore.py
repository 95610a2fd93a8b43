"""`companyos rescore`: rescores stored runs with the current rubrics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from companyos.cli.terminal import ERR, FAILED, OUT, USAGE_ERROR, fail, plain_table, report_errors, sanitize

if TYPE_CHECKING:
    from companyos.contract import EpisodeVerdict
    from companyos.runner import Rescored

_FAULTS_SHOWN = 20


def rescore(
    runs: Annotated[list[Path], typer.Argument(metavar="RUNS...", help="Run folders written by `eval --out`.")],
) -> None:
    """Rescore the stored evidence of runs, and list every episode whose verdict changed.

    No service is started: a rubric is a pure function of evidence. The exit status is
    0 if no verdict changed, 1 if one changed, 2 if an episode could not be rescored.

    Examples:

      [cyan]companyos rescore runs/oracle[/]
      [cyan]companyos rescore runs/*[/]
    """
    from companyos import rescorers
    from companyos.runner import rescore as rescore_run

    try:
        rescorer = rescorers.load_rescorer()
    except rescorers.RescorerUnavailableError as error:
        fail(str(error))
    with report_errors():
        results = [result for folder in runs for result in rescore_run(folder, rescorer)]
    differing = [result for result in results if result.differs]
    if differing:
        _print_differing(differing)
    _print_count(results, len(differing))
    if any(result.fault is not None for result in results):
        raise typer.Exit(USAGE_ERROR)
    if differing:
        raise typer.Exit(FAILED)


def _print_differing(differing: list[Rescored]) -> None:
    table = plain_table()
    for column in ("episode", "old", "new", "what differs"):
        table.add_column(column, overflow="fold")
    for result in differing:
        record, new = result.record, result.new
        assert record is not None
        assert record.verdict is not None
        assert new is not None
        name = f"{record.scenario}, seed {record.seed}, chaos {record.chaos}, {record.policy}"
        table.add_row(
            sanitize(name),
            _format_verdict(record.verdict),
            _format_verdict(new),
            sanitize(_describe_difference(record.verdict, new)),
        )
    OUT.print(table)
    OUT.print()


def _print_count(results: list[Rescored], differing: int) -> None:
    judged, broken_count = (
        sum(result.new is not None for result in results),
        sum(result.is_infra_error for result in results),
    )
    broken = f", {broken_count} without evidence after an infrastructure error" if broken_count else ""
    OUT.print(f"{judged} of {len(results)} episodes rescored{broken}: {differing} verdicts differ")
    faults = [result for result in results if result.fault is not None]
    for result in faults[:_FAULTS_SHOWN]:
        ERR.print(f"[yellow]not rescored:[/] {sanitize(f'{result.location}: {result.fault}')}", soft_wrap=True)
    if len(faults) > _FAULTS_SHOWN:
        ERR.print(f"[yellow]not rescored:[/] {len(faults) - _FAULTS_SHOWN} more lines", soft_wrap=True)


def _format_verdict(verdict: EpisodeVerdict) -> str:
    return "[green]success[/]" if verdict.success else "[red]failure[/]"


def _describe_difference(old: EpisodeVerdict, new: EpisodeVerdict) -> str:
    """Return the differences between two verdicts."""
    before = {check.id: check.passed for check in old.checks}
    after = {check.id: check.passed for check in new.checks}
    labels = {True: "passes", False: "fails", None: "is absent"}
    differences = [
        f"{name} {labels[after.get(name)]}, did not before"
        for name in {**before, **after}
        if before.get(name) is not after.get(name)
    ]
    if round(old.potential, 9) != round(new.potential, 9):
        differences.append(f"milestones {old.potential:g} -> {new.potential:g}")
    if set(old.damage) != set(new.damage):
        differences.append(f"damaged: {', '.join(new.damage) or 'nothing'}, was {', '.join(old.damage) or 'nothing'}")
    if old.rejections != new.rejections:
        differences.append(f"rejections {old.rejections} -> {new.rejections}")
    return "; ".join(differences)
