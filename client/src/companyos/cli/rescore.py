"""`companyos rescore`: judges stored runs again with the rubrics of now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from companyos.cli.terminal import ERR, FAILED, MISUSED, OUT, clear_errors, fail, plain_table, shown

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
    from companyos import judging
    from companyos.runner import rescore as judged_again

    try:
        judge = judging.load_judge()
    except judging.NoJudge as missing:
        fail(str(missing))
    with clear_errors():
        found = [one for folder in runs for one in judged_again(folder, judge)]
    differing = [one for one in found if one.differs]
    if differing:
        _print_differing(differing)
    _print_count(found, len(differing))
    if any(one.fault is not None for one in found):
        raise typer.Exit(MISUSED)
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
        table.add_row(shown(name), _told(record.verdict), _told(new), shown(_difference(record.verdict, new)))
    OUT.print(table)
    OUT.print()


def _print_count(found: list[Rescored], differing: int) -> None:
    judged, lost = sum(one.new is not None for one in found), sum(one.is_lost for one in found)
    broken = f", {lost} that the house broke have none" if lost else ""
    OUT.print(f"{judged} of {len(found)} episodes judged again{broken}: {differing} verdicts differ")
    faults = [one for one in found if one.fault is not None]
    for one in faults[:_FAULTS_SHOWN]:
        ERR.print(f"[yellow]not judged:[/] {shown(f'{one.place}: {one.fault}')}", soft_wrap=True)
    if len(faults) > _FAULTS_SHOWN:
        ERR.print(f"[yellow]not judged:[/] {len(faults) - _FAULTS_SHOWN} more lines", soft_wrap=True)


def _told(verdict: EpisodeVerdict) -> str:
    return "[green]success[/]" if verdict.success else "[red]failure[/]"


def _difference(old: EpisodeVerdict, new: EpisodeVerdict) -> str:
    """Say what two verdicts disagree about."""
    before = {check.id: check.passed for check in old.checks}
    after = {check.id: check.passed for check in new.checks}
    words = {True: "passes", False: "fails", None: "is not asked"}
    said = [
        f"{name} {words[after.get(name)]}, did not before"
        for name in {**before, **after}
        if before.get(name) is not after.get(name)
    ]
    if round(old.potential, 9) != round(new.potential, 9):
        said.append(f"milestones {old.potential:g} -> {new.potential:g}")
    if set(old.damage) != set(new.damage):
        said.append(f"damaged: {', '.join(new.damage) or 'nothing'}, was {', '.join(old.damage) or 'nothing'}")
    if old.rejections != new.rejections:
        said.append(f"rejections {old.rejections} -> {new.rejections}")
    return "; ".join(said)
