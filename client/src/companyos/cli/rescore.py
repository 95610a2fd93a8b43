"""`companyos rescore`: judges stored runs again with the rubrics of now."""

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
    runs: Annotated[list[Path], typer.Argument(metavar="RUNS...", help="Folders that `eval --out` has written.")],
) -> None:
    """Judge the stored evidence of runs again, and list every episode whose verdict is another now.

    No service is started: a rubric is a pure function of evidence. The status is
    0 where every verdict stands, 1 where one differs, 2 where one could not be judged.

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
        results = [one for folder in runs for one in rescore_run(folder, rescorer)]
    differing = [one for one in results if one.differs]
    if differing:
        _print_differing(differing)
    _print_count(results, len(differing))
    if any(one.fault is not None for one in results):
        raise typer.Exit(USAGE_ERROR)
    if differing:
        raise typer.Exit(FAILED)


def _print_differing(differing: list[Rescored]) -> None:
    table = plain_table()
    for column in ("episode", "old", "new", "what differs"):
        table.add_column(column, overflow="fold")
    for one in differing:
        record, new = one.record, one.new
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
    judged, broken_count = sum(one.new is not None for one in results), sum(one.is_infra_error for one in results)
    broken = f", {broken_count} that the house broke have none" if broken_count else ""
    OUT.print(f"{judged} of {len(results)} episodes judged again{broken}: {differing} verdicts differ")
    faults = [one for one in results if one.fault is not None]
    for one in faults[:_FAULTS_SHOWN]:
        ERR.print(f"[yellow]not judged:[/] {sanitize(f'{one.location}: {one.fault}')}", soft_wrap=True)
    if len(faults) > _FAULTS_SHOWN:
        ERR.print(f"[yellow]not judged:[/] {len(faults) - _FAULTS_SHOWN} more lines", soft_wrap=True)


def _format_verdict(verdict: EpisodeVerdict) -> str:
    return "[green]success[/]" if verdict.success else "[red]failure[/]"


def _describe_difference(old: EpisodeVerdict, new: EpisodeVerdict) -> str:
    """Say what two verdicts disagree about."""
    before = {check.id: check.passed for check in old.checks}
    after = {check.id: check.passed for check in new.checks}
    labels = {True: "passes", False: "fails", None: "is not asked"}
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
