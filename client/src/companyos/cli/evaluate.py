"""`companyos eval`: plays a policy over many seeds and says how it did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from companyos.cli.results import results_table, troubles
from companyos.cli.session import LAST_CHAOS, Server, TokenOption, UrlOption, check_seeds, some_server
from companyos.cli.tasks import SplitOption, chosen
from companyos.cli.terminal import ERR, FAILED, INTERRUPTED, MISUSED, OUT, clear_errors, fail

if TYPE_CHECKING:
    from companyos.contract import TaskInfo
    from companyos.runner import EpisodePlan, PlayedEpisode

SEEDS = 10
"""Seeds that are played where nobody says how many."""

_TROUBLES_SHOWN = 10


def evaluate(
    policy: Annotated[list[str] | None, typer.Option(help="Whom to measure; again for several side by side.")] = None,
    scenario: Annotated[
        str | None, typer.Option(help="What is to be done: vendor_onboarding, or all scenarios of a split.")
    ] = None,
    episodes: Annotated[
        int | None, typer.Option("--episodes", "-n", min=1, help="How many: 10 seeds, or all tasks of a split.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="The first seed S: 0.")] = None,
    chaos: Annotated[
        list[int] | None,
        typer.Option(
            min=0,
            max=LAST_CHAOS,
            help="0 calm, 1 light, 2 moderate, 3 heavy, 4 storm: 1, or all levels of a split; again for more levels.",
        ),
    ] = None,
    split: SplitOption = None,
    out: Annotated[
        Path | None, typer.Option(file_okay=False, help="Keep episodes.jsonl, trajectories and evidence there.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Draw return and success by level there, as a PNG.")
    ] = None,
    url: UrlOption = None,
    token: TokenOption = None,
    parallel: Annotated[int, typer.Option(min=1, help="Episodes at once.")] = 4,
) -> None:
    """Play a policy over seeds S to S+N-1, or over the tasks of a split, and print how it did.

    The table shows mean return, success with its 95 % interval, and steps.

    Examples:

      [cyan]companyos eval --policy oracle[/]                      the solver, 10 seeds
      [cyan]companyos eval --policy random -n 300 --out runs/r[/]  kept on disk
      [cyan]companyos eval --policy oracle --policy noop[/]        side by side
      [cyan]companyos eval --policy oracle --split test -n 40[/]   the first 40 tasks of a split
      [cyan]companyos eval --policy mine --url http://host:8000[/]
      [cyan]companyos eval --policy oracle --policy worker1 --chaos 0 --chaos 4 --plot curves.png[/]

    A policy is an entry point of the group `companyos.policies`. The status is 1 when the house broke an episode.
    """
    from companyos.policies import policy_names

    if not policy:
        fail(f"--policy is missing; installed are {', '.join(policy_names())}", MISUSED)
    for name in policy:
        if name not in policy_names():
            fail(f"no policy is called {name!r}; installed are {', '.join(policy_names())}", MISUSED)
    if split is not None and seed is not None:
        fail("a task of a split brings its own seed: --split or --seed, not both", MISUSED)
    check_seeds(seed or 0, episodes or SEEDS)
    levels = tuple(sorted(set(chaos or ())))
    with clear_errors(), some_server(url, token) as server:
        plans_of: Callable[[str], list[EpisodePlan]]
        if split is None:
            named = Seeds(scenario or "vendor_onboarding", levels or (1,), seed or 0, episodes or SEEDS)
            title, plans_of = named.title, named.plans
        else:
            title, plans_of = _tasks(server, split, scenario, levels, episodes)
        plans = [plan for name in dict.fromkeys(policy) for plan in plans_of(name)]
        played, is_stopped = play_with_bar(server, plans, parallel=parallel, out=out)
    _print_results(played, title, out)
    if plot is not None and played:
        _draw(played, title, plot)
    if is_stopped:
        ERR.print(f"stopped after {len(played)} of {len(plans)} episodes", style="yellow")
        raise typer.Exit(INTERRUPTED)
    if any(episode.record.outcome == "infra_error" for episode in played):
        raise typer.Exit(FAILED)


@dataclass(frozen=True)
class Seeds:
    """Seeds of one scenario at some levels."""

    scenario: str
    levels: tuple[int, ...]
    first: int
    count: int

    @property
    def title(self) -> str:
        """What is written above the results."""
        return f"{self.scenario}, {_chaos(self.levels)}, seeds {self.first} to {self.first + self.count - 1}"

    def plans(self, policy: str) -> list[EpisodePlan]:
        """Return the episodes that a policy is to play."""
        from companyos.runner import EpisodePlan

        seeds = range(self.first, self.first + self.count)
        return [
            EpisodePlan(scenario=self.scenario, seed=seed, chaos=level, policy=policy)
            for level in self.levels
            for seed in seeds
        ]


def _chaos(levels: tuple[int, ...]) -> str:
    return f"chaos {', '.join(map(str, levels))}"


def _tasks(
    server: Server, split: str, scenario: str | None, levels: tuple[int, ...], count: int | None
) -> tuple[str, Callable[[str], list[EpisodePlan]]]:
    """Return what the tasks of a split are called together, and the episodes of them that a policy is to play."""
    import asyncio

    from companyos.runner import EpisodePlan

    async def read() -> list[TaskInfo]:
        async with server.trainer() as trainer:
            return await trainer.tasks(split)

    found = chosen(asyncio.run(read()), scenario, levels[0] if len(levels) == 1 else None)
    wanted = [task for task in found if not levels or task.chaos in levels][:count]

    def plans(policy: str) -> list[EpisodePlan]:
        return [
            EpisodePlan(scenario=task.scenario, chaos=task.chaos, policy=policy, task_id=task.id) for task in wanted
        ]

    of = "".join([f", {scenario}" if scenario else "", f", {_chaos(levels)}" if levels else ""])
    return f"split {split}{of}: {len(wanted)} tasks of the set {wanted[0].version}", plans


def play_with_bar(
    server: Server, plans: list[EpisodePlan], *, parallel: int, out: Path | None = None
) -> tuple[list[PlayedEpisode], bool]:
    """Play the plans under a progress bar; return what was played, and whether Ctrl-C ended it early."""
    import asyncio

    from companyos.runner import play_all

    played: list[PlayedEpisode] = []
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("[green]{task.fields[successes]} succeeded[/]"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=ERR, transient=True) as progress:
        bar = progress.add_task("Playing", total=len(plans), successes=0)

        def on_played(episode: PlayedEpisode) -> None:
            played.append(episode)
            successes = sum(each.record.success for each in played)
            progress.update(bar, advance=1, successes=successes, description=f"Playing {episode.plan.policy}")

        try:
            playing = play_all(server.url, plans, parallel=parallel, out=out, on_played=on_played, token=server.token)
            return asyncio.run(playing), False
        except KeyboardInterrupt:
            return played, True


def _print_results(played: list[PlayedEpisode], title: str, out: Path | None) -> None:
    """Print a table over everything, and one for each level where there are several."""
    levels = sorted({episode.record.chaos for episode in played})
    if played:
        _print_table(played, title)
    for level in levels if len(levels) > 1 else ():
        OUT.print()
        _print_table([episode for episode in played if episode.record.chaos == level], f"chaos {level}")
    lines = troubles(played)
    for line in lines[:_TROUBLES_SHOWN]:
        ERR.print(f"[yellow]trouble:[/] {escape(line)}", soft_wrap=True)
    if len(lines) > _TROUBLES_SHOWN:
        ERR.print(f"[yellow]trouble:[/] {len(lines) - _TROUBLES_SHOWN} more episodes", soft_wrap=True)
    if out is not None and played:
        OUT.print(f"\n[dim]{len(played)} episodes in[/] {escape(str(out))}", soft_wrap=True)


def _print_table(played: list[PlayedEpisode], title: str) -> None:
    from companyos.runner import summarise

    by_policy: dict[str, list[PlayedEpisode]] = {}
    for episode in played:
        by_policy.setdefault(episode.plan.policy, []).append(episode)
    summaries = [summarise([episode.record for episode in group]) for group in by_policy.values()]
    OUT.print(results_table(summaries, title))


def _draw(played: list[PlayedEpisode], title: str, file: Path) -> None:
    from companyos.runner.curves import NoPlots, draw_curves

    try:
        with clear_errors():
            draw_curves([episode.record for episode in played], file, title=title)
    except NoPlots as missing:
        fail(str(missing))
    OUT.print(f"[dim]curves in[/] {escape(str(file))}", soft_wrap=True)
