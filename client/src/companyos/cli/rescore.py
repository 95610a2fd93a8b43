"""`companyos rescore`: rescores stored runs with the current rubrics."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from companyos.cli.terminal import ERR, FAILED, OUT, USAGE_ERROR, fail, plain_table, pluralize, report_errors, sanitize
from companyos.cli.view import usage_errors

if TYPE_CHECKING:
    from companyos.contract import EpisodeVerdict
    from companyos.runner import Rescored

_FAULTS_SHOWN = 20


def rescore(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders written by `eval --out`.")],
    public_key: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="Accept only evidence that this gateway key signed; can be repeated."),
    ] = None,
    unsigned: Annotated[
        bool, typer.Option("--unsigned", help="Also rescore evidence without a signature, from earlier versions.")
    ] = False,
) -> None:
    """Rescore the stored evidence of runs, and list every episode whose verdict changed.

    No service is started: a rubric is a pure function of evidence. Its
    signature is verified first. The exit status is 0 if no verdict changed, 1
    if one changed, 2 if an episode could not be rescored: its evidence is
    damaged, modified or unsigned.

    Without --public-key, the signature is verified with the key in the
    evidence. That finds modifications, but not who signed: anyone can sign with
    a new key.

    Examples:

      [cyan]companyos rescore runs/oracle[/]
      [cyan]companyos rescore runs/*[/]
      [cyan]companyos rescore runs/oracle --public-key 3f0c...[/]
    """
    from companyos import rescorers
    from companyos.runner import rescore as rescore_run
    from companyos.viewer.stored_run import check_is_run

    keys = check_public_keys(public_key)
    if keys and unsigned:
        fail("--public-key and --unsigned cannot be combined", USAGE_ERROR)
    try:
        rescorer = rescorers.load_rescorer()
    except rescorers.RescorerUnavailableError as error:
        fail(str(error))
    with report_errors(), usage_errors():
        for folder in runs:
            check_is_run(folder)
        results = [
            result
            for folder in runs
            for result in rescore_run(folder, rescorer, public_keys=keys, allow_unsigned=unsigned)
        ]
    differing = [result for result in results if result.differs]
    if differing:
        _print_differing(differing)
    _print_count(results, len(differing))
    _print_keys(results, is_pinned=bool(keys))
    if any(result.is_unsigned for result in results):
        ERR.print("Use --unsigned to rescore evidence without a signature.")
    if any(result.fault is not None for result in results):
        raise typer.Exit(USAGE_ERROR)
    if differing:
        raise typer.Exit(FAILED)


def check_public_keys(keys: list[str] | None) -> list[str]:
    """Return the keys; end the command if one is not a public key."""
    from companyos.signed_evidence import PUBLIC_KEY

    for key in keys or []:
        if re.fullmatch(PUBLIC_KEY, key) is None:
            fail(f"--public-key must be 64 lowercase hexadecimal digits; got {key!r}", USAGE_ERROR)
    return keys or []


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
    judged = sum(result.new is not None for result in results)
    broken_count = sum(result.is_infra_error for result in results)
    broken = f", {broken_count} without evidence after an infrastructure error" if broken_count else ""
    OUT.print(f"{judged} of {len(results)} episodes rescored{broken}: {differing} verdicts differ")
    faults = [result for result in results if result.fault is not None]
    for result in faults[:_FAULTS_SHOWN]:
        ERR.print(f"[yellow]not rescored:[/] {sanitize(f'{result.location}: {result.fault}')}", soft_wrap=True)
    if len(faults) > _FAULTS_SHOWN:
        ERR.print(f"[yellow]not rescored:[/] {len(faults) - _FAULTS_SHOWN} more lines", soft_wrap=True)


def _print_keys(results: list[Rescored], *, is_pinned: bool) -> None:
    """Print which keys signed the evidence, and how much of it is unsigned."""
    for key in sorted({result.public_key for result in results if result.public_key is not None}):
        count = pluralize(sum(result.public_key == key for result in results), "episode")
        OUT.print(f"{count} signed with {key}{'' if is_pinned else ' (not pinned: no --public-key)'}", soft_wrap=True)
    unsigned = sum(result.new is not None and result.public_key is None for result in results)
    if unsigned:
        OUT.print(f"{pluralize(unsigned, 'episode')} without a signature")


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
