"""`companyos demo`: one vendor onboarding step by step, then a comparison of three policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.padding import Padding
from rich.table import Table

from companyos.cli.connection import Server, TokenOption, UrlOption, check_seeds, connect_or_start
from companyos.cli.results import format_reward, result_cells
from companyos.cli.step_log import step_line, step_log_header
from companyos.cli.terminal import ERR, FAILED, OUT, fail, plain_table, report_errors, sanitize
from companyos.extras import install_command

if TYPE_CHECKING:
    from companyos.cli.milestones import MilestoneEvent, MilestoneTracker
    from companyos.policies import StepView, TaskView
    from companyos.runner import EpisodePlan, PlayedEpisode, StepLine, Summary

SCENARIO = "vendor_onboarding"
CHAOS = 1
POLICIES = {
    "oracle": "a script that sees what an agent sees",
    "random": "random tools, arguments that match their schemas",
    "noop": "calls finish at once",
}
"""The compared policies and what they do."""

_MILESTONE_INDENT = 5
_FACT_INDENT = 4


def demo(
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the episode; it determines the company and the vendor.")
    ] = 9,
    episodes: Annotated[int, typer.Option("--episodes", "-n", min=1, help="Number of seeds in the comparison.")] = 10,
    url: UrlOption = None,
    token: TokenOption = None,
) -> None:
    """Watch the oracle onboard one vendor in the three services, then compare it with other policies.

    The oracle sees what an agent sees: the brief, the tools and their
    responses. The exit status is 0 if it succeeds.

    Examples:

      [cyan]companyos demo[/]
      [cyan]companyos demo --seed 42[/]
    """
    from companyos.policies import policy_names

    unavailable = [name for name in POLICIES if name not in policy_names()]
    if unavailable:
        fail(f"policy {unavailable[0]!r} is not installed: {install_command('server')}")
    check_seeds(seed, episodes)
    with report_errors(), connect_or_start(url, token) as server:
        tracker, demo_episode = _play_and_print(server, seed)
        summaries = _compare(server, seed, episodes)
    OUT.print(_comparison_table(summaries, seed, episodes))
    if not (demo_episode.record.success and tracker.is_complete):
        raise typer.Exit(FAILED)


def _plan(policy: str, seed: int) -> EpisodePlan:
    from companyos.runner import EpisodePlan

    return EpisodePlan(scenario=SCENARIO, seed=seed, chaos=CHAOS, policy=policy)


def _play_and_print(server: Server, seed: int) -> tuple[MilestoneTracker, PlayedEpisode]:
    import asyncio

    from companyos.cli.milestones import MilestoneTracker
    from companyos.policies import load_policy
    from companyos.policies.arguments import ids_in
    from companyos.runner import play_episode

    tracker, total = MilestoneTracker(""), 0.0

    def on_start(task: TaskView) -> None:
        tracker.ticket = ids_in(task.brief)[0]
        _print_task(task, seed)

    def on_step(line: StepLine, view: StepView) -> None:
        nonlocal total
        total += view.reward
        OUT.print(step_line(line, view, total, OUT.width))
        for event in tracker.observe(line.tool, view):
            _print_milestone(event)

    async def play() -> PlayedEpisode:
        async with server.env() as env:
            oracle = load_policy("oracle")
            return await play_episode(env, _plan("oracle", seed), oracle, on_start=on_start, on_step=on_step)

    played = asyncio.run(play())
    _print_result(played, tracker)
    return tracker, played


def _print_task(task: TaskView, seed: int) -> None:
    OUT.print(
        f"[bold]{sanitize(task.company)}[/], {task.now:%A %d %B %Y, %H:%M}  "
        f"[dim]{task.scenario}, seed {seed}, chaos {CHAOS}, played by the oracle over OpenEnv[/]"
    )
    OUT.print(Padding(sanitize(task.brief), (1, 2)))
    OUT.print(step_log_header(OUT.width))


def _print_milestone(event: MilestoneEvent) -> None:
    """Print a milestone; on a narrow terminal its fact goes on a line of its own."""
    mark, style = ("✔", "green") if event.is_passed else ("▶", "yellow")
    name = f"{mark} {event.milestone.number} {event.milestone.value}:"
    fits = _MILESTONE_INDENT + len(name) + 1 + len(event.fact) <= OUT.width
    fact = sanitize(event.fact)
    OUT.print(Padding(f"[{style}]{name}[/]{f' {fact}' if fits else ''}", (0, 0, 0, _MILESTONE_INDENT)))
    if not fits:
        OUT.print(Padding(fact, (0, 0, 0, _MILESTONE_INDENT + _FACT_INDENT)))


def _print_result(played: PlayedEpisode, tracker: MilestoneTracker) -> None:
    record = played.record
    verdict = "[bold green]success[/]" if record.success else f"[bold red]{record.outcome}[/]"
    OUT.print(
        f"\n  {verdict} after {record.steps} steps, return {format_reward(record.return_)}, "
        f"{len(tracker.passed)} of 5 milestones passed\n"
    )
    if played.trouble is not None:
        OUT.print(f"  [yellow]{sanitize(played.trouble)}[/]\n")


def _compare(server: Server, seed: int, episodes: int) -> list[Summary]:
    from companyos.cli.eval_runs import play_with_progress
    from companyos.runner import summarise

    plans = [_plan(policy, seed + n) for policy in POLICIES for n in range(episodes)]
    played, stop = play_with_progress(server, plans, parallel=4)
    if stop is not None:
        ERR.print("stopped", style="dim")
        stop.end_command()
    return [summarise([episode.record for episode in played if episode.plan.policy == policy]) for policy in POLICIES]


def _comparison_table(summaries: list[Summary], seed: int, episodes: int) -> Table:
    table = plain_table(f"{SCENARIO}, chaos {CHAOS}, seeds {seed} to {seed + episodes - 1}")
    table.add_column("policy", style="bold")
    for column in ("mean return", "success", "95 % interval", "mean steps"):
        table.add_column(column, justify="right")
    table.add_column("behavior", style="dim")
    for summary in summaries:
        _, _, mean, share, interval, steps, *_ = result_cells(summary)
        table.add_row(summary.policy, mean, share, interval, steps, POLICIES[summary.policy])
    return table
