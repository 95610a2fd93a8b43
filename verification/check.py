"""`companyos check`: the everyday rows of the proof for one scenario."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from verification.proof.rows import Job, Line, Scope

ROWS = "ABCFI"
"""Rows of the proof that a single scenario can pass within a minute."""

SEEDS = 3


def check(
    target: Annotated[
        str, typer.Argument(metavar="[PATH|NAME]", help="Folder of a package with scenarios, or name of a scenario.")
    ] = ".",
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds that the oracles play per level.")] = SEEDS,
    processes: Annotated[int | None, typer.Option(min=1, help="Number of processes. Default: one per core.")] = None,
) -> None:
    """Check the guarantees of a scenario by playing and mutating episodes.

    Examples:

      [cyan]companyos check[/]                  the package in this folder
      [cyan]companyos check ./parking_permit[/]
      [cyan]companyos check bug_escalation[/]   an installed scenario
      [cyan]companyos check --seeds 20[/]       more instances

    Runs rows A, B, C, F and I of the proof: the oracles succeed, adversaries
    and changed final states do not, nothing hidden is shown, and texts and
    dates are plausible. The oracles also play the first instance of each
    variant and of each reason for a refusal. Code mutants are left out: they
    need instances of many scenarios. The exit status is 1 if a line does not
    hold.
    """
    import time

    from companyos.cli.terminal import OUT, USAGE_ERROR, fail, pluralize, report_errors, sanitize
    from companyos_gateway.scenarios import catalogue
    from companyos_gateway.scenarios.catalogue import ScenarioError
    from verification.check_targets import TargetError, UnknownTargetError, find_scenarios
    from verification.plan_determinism import check_determinism
    from verification.proof.execution import WorkerLostError
    from verification.structures import first_seeds

    started = time.monotonic()
    with report_errors():
        try:
            scenarios = find_scenarios(target)
            structures = {name: first_seeds(catalogue()[name]) for name in scenarios}
            check_determinism(scenarios)
            lines = check_scenarios(structures, seeds, processes or os.cpu_count() or 1)
        except UnknownTargetError as error:
            fail(str(error), USAGE_ERROR)
        except (TargetError, ScenarioError, WorkerLostError) as error:
            fail(str(error))
    OUT.print(_table(lines))
    for name, found in structures.items():
        OUT.print(f"\n{name}: structures played: {sanitize(', '.join(sorted(found)))}")
    broken = [line for line in lines if not line.holds]
    result = f"[red]{pluralize(len(broken), 'line')} of {len(lines)} failed[/]" if broken else "all lines hold"
    OUT.print(f"\n{', '.join(scenarios)}: {result}, {time.monotonic() - started:.0f} s")
    raise typer.Exit(1 if broken else 0)


def check_scenarios(structures: Mapping[str, Mapping[str, int]], seeds: int, processes: int) -> list[Line]:
    """Run the rows for scenarios, with the seeds of their structures, and return the lines."""
    from verification.proof.execution import row_lines, run_jobs
    from verification.proof.rows import ROWS as ALL
    from verification.proof.rows.verifier import CODE

    scope = _scope(list(structures), seeds)
    jobs = [job for letter in ROWS for job in ALL[letter].jobs(scope) if job.part != CODE]
    jobs += _structure_jobs(scope, structures)
    tallies = run_jobs(jobs, processes)
    return [line for letter in ROWS for line in row_lines(letter, scope, tallies.get(letter, []))]


def _scope(scenarios: Sequence[str], seeds: int) -> Scope:
    from dataclasses import replace

    from verification.proof.rows import Scope
    from verification.proof.sizes import CHECK

    return Scope(scenarios=tuple(scenarios), size=replace(CHECK, oracle_seeds=seeds), first=0)


def _structure_jobs(scope: Scope, structures: Mapping[str, Mapping[str, int]]) -> Iterator[Job]:
    """Yield a job of the oracles for each structure whose seed the scope does not play."""
    from verification.proof.rows import Job
    from verification.proof.rows.solvable import ORACLES
    from verification.structures import STRUCTURE_LEVEL

    played = scope.seeds(scope.size.oracle_seeds)
    for name, seeds in structures.items():
        for seed in sorted(set(seeds.values()) - set(played)):
            yield Job(row="A", part=ORACLES, scope=scope, scenario=name, seed=seed, level=STRUCTURE_LEVEL)


def _table(lines: Sequence[Line]) -> object:
    from companyos.cli.terminal import data_table, sanitize

    table = data_table()
    for name in ("", "row", "promise"):
        table.add_column(name)
    table.add_column("n", justify="right")
    table.add_column("result")
    for line in lines:
        holds = "[green]yes[/]" if line.holds else "[bold red]NO[/]"
        table.add_row(holds, line.row, sanitize(line.promise), str(line.n), sanitize(line.result))
    return table
