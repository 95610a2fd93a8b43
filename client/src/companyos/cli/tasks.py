"""`companyos tasks`: scenarios, splits and briefs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.padding import Padding
from rich.table import Table

from companyos.cli.connection import (
    LARGEST_CHAOS,
    LEVELS,
    SPLITS,
    JsonOption,
    Server,
    TokenOption,
    UrlOption,
    check_seeds,
    check_split,
    connect_or_start,
)
from companyos.cli.terminal import OUT, USAGE_ERROR, fail, plain_table, pluralize, print_json, report_errors, sanitize

if TYPE_CHECKING:
    from companyos.contract import CompanyOSResetObservation, ScenarioInfo, SplitInfo, TaskInfo
    from companyos.trainer import Trainer

DEFAULT_TASKS = 20
"""Default number of listed tasks of a split."""

DEFAULT_BRIEFS = 3

_LEVELS = frozenset(map(str, range(LARGEST_CHAOS + 1)))

SplitOption = Annotated[str | None, typer.Option(metavar="SPLIT", help="Use the tasks of train, validation or test.")]


def tasks(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="SCENARIO|TASK", help="A scenario: print some of its briefs. A task id: print that task."
        ),
    ] = None,
    split: SplitOption = None,
    scenario: Annotated[str | None, typer.Option(help="With --split: only tasks of this scenario.")] = None,
    chaos: Annotated[
        int | None,
        typer.Option(
            metavar="LEVEL", min=0, max=LARGEST_CHAOS, help=f"Chaos level: {LEVELS}. Default for a scenario: 1."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="With a scenario: first seed. Default: 0.")] = None,
    count: Annotated[
        int | None,
        typer.Option(
            "--count",
            "-n",
            min=1,
            help=f"Number of entries. Default: {DEFAULT_BRIEFS} briefs or {DEFAULT_TASKS} tasks.",
        ),
    ] = None,
    as_json: JsonOption = False,
    url: UrlOption = None,
    token: TokenOption = None,
) -> None:
    """List scenarios and splits, browse the tasks of a split, or print briefs.

    Splits are fixed: a task id always refers to the same company and case. Test
    contains names, wordings and structures that train does not. Every scenario
    can also be played with any seed.

    Examples:

      [cyan]companyos tasks[/]                                      scenarios and splits
      [cyan]companyos tasks --split test[/]                         first tasks of test
      [cyan]companyos tasks --split test --scenario bug_escalation --chaos 3[/]
      [cyan]companyos tasks test.bug_escalation.3.05[/]             the brief of one task
      [cyan]companyos tasks vendor_onboarding --seed 42 -n 1[/]     briefs by seed
      [cyan]companyos tasks --split train --json > train.json[/]
      [cyan]companyos tasks export --out tasks[/]                   all, as a dataset
    """
    check_seeds(seed or 0, count or DEFAULT_BRIEFS)
    is_task = what is not None and what.count(".") > 1
    if what is not None and is_task:
        task_parts(what)
    if split is not None:
        check_split_options(split, seed)
    else:
        has_scenario = what is not None and not is_task
        _check_options(scenario, {"--chaos": chaos, "--count": count}, seed, has_scenario=has_scenario)
    with report_errors(), connect_or_start(url, token) as server:
        if split is not None:
            if what is not None:
                fail("--split cannot be combined with a task or scenario", USAGE_ERROR)
            _browse(server, split, scenario, chaos, count, as_json=as_json)
        elif what is not None and is_task:
            _show_task(server, what, as_json=as_json)
        elif what is not None:
            first = seed or 0
            seeds = range(first, first + (count or DEFAULT_BRIEFS))
            _show_briefs(server, what, seeds, 1 if chaos is None else chaos, as_json)
        else:
            _show_all(server, as_json=as_json)


def check_split_options(split: str, seed: int | None) -> None:
    """End the command if the split does not exist, or is combined with a seed."""
    check_split(split)
    if seed is not None:
        fail("--split and --seed cannot be combined: a task of a split has its own seed", USAGE_ERROR)


def _check_options(
    scenario: str | None, numbers: Mapping[str, int | None], seed: int | None, *, has_scenario: bool
) -> None:
    """End the command if an option has no effect without --split."""
    if scenario is not None:
        fail("--scenario needs --split", USAGE_ERROR)
    for name, number in numbers.items():
        if number is not None and not has_scenario:
            fail(f"{name} needs --split or the name of a scenario", USAGE_ERROR)
    if seed is not None and not has_scenario:
        fail("--seed needs the name of a scenario", USAGE_ERROR)


def _show_all(server: Server, *, as_json: bool) -> None:
    from companyos.contract import SHIFT_PREFIX, SHIFT_SIZES

    async def read(trainer: Trainer) -> tuple[list[ScenarioInfo], list[SplitInfo]]:
        return await trainer.scenarios(), await trainer.splits()

    scenarios, splits = server.ask(read)
    if as_json:
        print_json({"scenarios": scenarios, "splits": splits})
        return
    table = plain_table()
    table.add_column("scenario", style="bold cyan", no_wrap=True)
    table.add_column("description")
    for known in scenarios:
        table.add_row(known.name, sanitize(known.summary))
    for size, count in SHIFT_SIZES.items():
        table.add_row(f"{SHIFT_PREFIX}{size}", f"{count} cases of these scenarios in one company and one episode")
    OUT.print(table)
    OUT.print("\n[dim]a name with -medium or -large at its end, such as shift-week-large, enlarges the company[/]\n")
    table = plain_table()
    table.add_column("split", style="bold cyan", no_wrap=True)
    table.add_column("tasks", justify="right")
    table.add_column("")
    for split in splits:
        table.add_row(split.name, f"{split.num_tasks:,}", SPLITS[split.name])
    OUT.print(table)
    OUT.print(f"\n[dim]task set {splits[0].version}; `companyos tasks --split test` lists tasks, --help shows more[/]")


def _browse(
    server: Server, split: str, scenario: str | None, chaos: int | None, count: int | None, *, as_json: bool
) -> None:
    selected = read_tasks(server, split, scenario, () if chaos is None else (chaos,))
    if as_json:
        print_json([task.model_dump(mode="json", exclude={"brief"}) for task in selected[:count]])
        return
    first = selected[: count or DEFAULT_TASKS]
    OUT.print(_table(first))
    left = f"; {len(selected) - len(first):,} more with -n" if len(first) < len(selected) else ""
    OUT.print(
        f"\n[dim]{len(first)} of {pluralize(len(selected), 'task')}{left}; `companyos tasks {first[0].id}` shows it[/]"
    )


def read_tasks(server: Server, split: str, scenario: str | None, levels: Sequence[int]) -> list[TaskInfo]:
    """Return the tasks of a split like `list_tasks`; end the command if there are none."""
    selected = list_tasks(server, split, scenario, levels)
    if not selected:
        fail_without_tasks(scenario, levels)
    return selected


def list_tasks(server: Server, split: str, scenario: str | None, levels: Sequence[int]) -> list[TaskInfo]:
    """Return the tasks of a split, all or of one scenario, at these chaos levels or at all if there are none."""
    tasks = server.ask(lambda trainer: trainer.tasks(split if scenario is None else f"{split}.{scenario}"))
    return [task for task in tasks if not levels or task.chaos in levels]


def fail_without_tasks(scenario: str | None, levels: Sequence[int]) -> NoReturn:
    """End the command because no task has this scenario and one of these chaos levels."""
    of_scenario = "" if scenario is None else f" of scenario {scenario!r}"
    at_levels = f" at chaos {', '.join(map(str, levels))}" if levels else ""
    fail(f"no tasks{of_scenario}{at_levels}; `companyos tasks` lists the scenarios", USAGE_ERROR)


def task_parts(task_id: str) -> tuple[str, int]:
    """Return the scenario and the chaos level of a task id, `split.scenario.level.number`, or end the command."""
    match task_id.split("."):
        case [split, scenario, level, _] if split in SPLITS and level in _LEVELS:
            return scenario, int(level)
    return fail(
        "a task id has the form split.scenario.level.number, such as test.bug_escalation.3.05; the splits are "
        f"{', '.join(SPLITS)}, and the levels 0 to {LARGEST_CHAOS}; got {task_id!r}",
        USAGE_ERROR,
    )


def find_tasks(server: Server, task_ids: Sequence[str]) -> list[TaskInfo]:
    """Return the tasks with these ids, each once; end the command if one does not exist."""
    selected = list(dict.fromkeys(task_ids))

    async def read(trainer: Trainer) -> list[TaskInfo]:
        known: dict[str, TaskInfo] = {}
        for task_id in selected:
            if task_id not in known:
                known |= {task.id: task for task in await _read_block(trainer, task_id)}
        return [known[task_id] for task_id in selected]

    return server.ask(read)


async def _read_block(trainer: Trainer, task_id: str) -> list[TaskInfo]:
    """Return the tasks of the same split, scenario and level; end the command if the task is not one of them."""
    from companyos.errors import ApiError

    try:
        listed = await trainer.tasks(_block(task_id))
    except ApiError as error:
        if error.problem != "unknown-task":
            raise
        reason = error.message.removeprefix("unknown-task: split: ")
        fail(f"unknown task {task_id!r}: {reason}; `companyos tasks --split test` lists tasks", USAGE_ERROR)
    if task_id not in [task.id for task in listed]:
        accepted = f"{_block(task_id)} has {pluralize(len(listed), 'task')}, numbered from 00"
        fail(f"unknown task {task_id!r}; {accepted}", USAGE_ERROR)
    return listed


def _block(task_id: str) -> str:
    """Return the split, the scenario and the level of a task, joined as in its id."""
    return task_id.rpartition(".")[0]


def _table(listed: list[TaskInfo]) -> Table:
    table = plain_table()
    table.add_column("index", justify="right", style="dim")
    table.add_column("task", style="cyan", no_wrap=True)
    table.add_column("scenario")
    table.add_column("chaos")
    table.add_column("structure")
    for task in listed:
        structure = "[magenta]only here[/]" if task.held_out else "[dim]as in train[/]"
        table.add_row(
            "" if task.index is None else str(task.index),
            task.id,
            task.scenario,
            f"{task.chaos} {task.difficulty}",
            structure,
        )
    return table


def _show_task(server: Server, task_id: str, *, as_json: bool) -> None:
    async def read(trainer: Trainer) -> TaskInfo:
        ids = [task.id for task in await _read_block(trainer, task_id)]
        return await trainer.task(_block(task_id), ids.index(task_id))

    task = server.ask(read)
    if as_json:
        print_json(task)
        return
    structure = ", a structure only in this split" if task.held_out else ""
    OUT.print(f"[bold]{task.id}[/] [dim]{task.split}: {task.scenario}, {task.difficulty}{structure}[/]\n")
    OUT.print(Padding(sanitize(task.brief or ""), (0, 0, 0, 2)))
    OUT.print(f'\n[dim]await env.reset(task_id="{task.id}")   task set {task.version}[/]')


def _show_briefs(server: Server, scenario: str, seeds: range, chaos: int, as_json: bool) -> None:
    import asyncio

    async def read() -> dict[int, CompanyOSResetObservation]:
        async with server.env() as env:
            return {seed: (await env.reset(scenario=scenario, seed=seed, chaos=chaos)).observation for seed in seeds}

    briefs = asyncio.run(read())
    if as_json:
        named = {"scenario": scenario, "chaos": chaos}
        print_json([{**named, "seed": seed, "brief": first.brief} for seed, first in briefs.items()])
        return
    for number, first in briefs.items():
        OUT.print(f"[bold]{scenario}[/] [dim]seed[/] {number} [dim]chaos[/] {chaos}")
        OUT.print(
            f"[dim]{sanitize(first.company)}, {first.now:%A %d %B %Y, %H:%M}, acting as {sanitize(first.acting_as)}, "
            f"{first.steps_left} steps[/]"
        )
        OUT.print(Padding(sanitize(first.brief), (0, 0, 1, 2)))
