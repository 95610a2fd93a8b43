"""`companyos play`: a person plays an episode in the terminal, and gets its score."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from companyos.cli.connection import (
    LARGEST_CHAOS,
    LEVELS,
    Server,
    TokenOption,
    UrlOption,
    check_seeds,
    connect_or_start,
)
from companyos.cli.terminal import FAILED, INTERRUPTED, OUT, USAGE_ERROR, fail, report_errors, sanitize

if TYPE_CHECKING:
    from companyos.cli.human_policy import HumanEpisode, HumanPolicy, StartedEpisode
    from companyos.runner import EpisodePlan

SCENARIO, SEED, CHAOS = "vendor_onboarding", 0, 1
RUNS = Path("runs")

_LEVELS = frozenset(map(str, range(LARGEST_CHAOS + 1)))


def play(
    scenario: Annotated[str | None, typer.Option(help=f"What is to be done: {SCENARIO}.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help=f"Which company and which case: {SEED}.")] = None,
    chaos: Annotated[
        int | None,
        typer.Option(metavar="LEVEL", min=0, max=LARGEST_CHAOS, help=f"{LEVELS}: {CHAOS}."),
    ] = None,
    task: Annotated[str | None, typer.Option(metavar="ID", help="A task of a split instead, by its id.")] = None,
    out: Annotated[
        Path | None, typer.Option(file_okay=False, help="Where the run is kept: the next free folder runs/played-N.")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser", help="Open the company's pages in a browser.")] = False,
    url: UrlOption = None,
    token: TokenOption = None,
) -> None:
    """Play an episode yourself: read the brief, call the tools, finish, and see what it was worth.

    You see what an agent sees, and are paid like one. The company's pages are at hand in a browser as well. What you
    did is kept as `companyos eval` keeps it.

    Examples:

      [cyan]companyos play[/]
      [cyan]companyos play --scenario bug_escalation --seed 7 --chaos 3[/]
      [cyan]companyos play --task test.bug_escalation.3.05 --browser[/]
      [cyan]companyos play --url http://host:8000 --out runs/mine[/]
      [cyan]companyos play < steps.txt[/]        what would be typed, line by line

    Ctrl-C, or the end of the input, gives the episode up; it is scored as it stands.
    """
    if task is not None and (scenario, seed, chaos) != (None, None, None):
        fail("a task brings its own scenario, seed and chaos: --task alone", USAGE_ERROR)
    check_seeds(seed or 0, 1)
    if task is not None:
        _task_parts(task)
    folder = out or _free_folder()
    _check_no_run(folder)
    with report_errors(), connect_or_start(url, token) as server:
        plan = _plan(scenario, seed, chaos, task)
        played = _play(server, plan, folder, browser=browser)
        _print_score(folder, plan)
    if played.episode.record.outcome == "infra_error":
        raise typer.Exit(FAILED)
    if played.is_interrupted:
        raise typer.Exit(INTERRUPTED)


def _play(server: Server, plan: EpisodePlan, folder: Path, *, browser: bool) -> HumanEpisode:
    from companyos.cli.human_policy import play_as_human
    from companyos.cli.repl import EpisodePages, Repl

    def run_session(started: StartedEpisode, human: HumanPolicy) -> None:
        pages = EpisodePages(server.url, str(started.state.episode_id), started.state.token)
        repl = Repl(started, human, pages)
        repl.print_task()
        if browser:
            pages.open()
        repl.play()

    return play_as_human(server, plan, folder, run_session)


def _plan(scenario: str | None, seed: int | None, chaos: int | None, task: str | None) -> EpisodePlan:
    from companyos.cli.human_policy import PERSON
    from companyos.runner import EpisodePlan

    if task is not None:
        task_scenario, level = _task_parts(task)
        return EpisodePlan(scenario=task_scenario, chaos=level, policy=PERSON, task_id=task)
    return EpisodePlan(
        scenario=scenario or SCENARIO,
        seed=SEED if seed is None else seed,
        chaos=CHAOS if chaos is None else chaos,
        policy=PERSON,
    )


def _task_parts(task: str) -> tuple[str, int]:
    """Return the scenario and the chaos level of a task's id, `split.scenario.chaos.number`."""
    match task.split("."):
        case [_, scenario, chaos, _] if chaos in _LEVELS:
            return scenario, int(chaos)
    return fail(f"{task!r} is no task's id, such as test.bug_escalation.3.05", USAGE_ERROR)


def _free_folder() -> Path:
    """Return the next folder of runs that nothing is in yet."""
    number = 1
    while (folder := RUNS / f"played-{number}").exists():
        number += 1
    return folder


def _check_no_run(folder: Path) -> None:
    """Fail where a run is kept in the folder already, before anybody has played."""
    from companyos.runner.run_writer import RunExistsError, check_no_run

    try:
        check_no_run(folder)
    except RunExistsError as error:
        fail(f"{error.fact}: --out another folder", USAGE_ERROR)


def _print_score(folder: Path, plan: EpisodePlan) -> None:
    """Print how the kept episode ended, check by check, and where it is kept."""
    from companyos.cli.episode_report import print_score
    from companyos.cli.view import installed_rescorer
    from companyos.viewer.stored_run import StoredRun

    stored, rescorer = StoredRun(folder), installed_rescorer()
    episode = stored.episode(plan.name) if rescorer is None else stored.judged_episode(plan.name, rescorer)
    print_score(episode)
    folder_text = sanitize(str(folder))
    OUT.print(f"\n[dim]kept in[/] {folder_text}[dim]; every step:[/] companyos view {folder_text}", soft_wrap=True)
