"""`companyos play`: a human plays an episode in the terminal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from companyos.cli.connection import (
    LARGEST_CHAOS,
    LEVELS,
    OverrideOption,
    Server,
    TokenOption,
    UrlOption,
    check_seeds,
    connect_or_start,
    parse_overrides,
)
from companyos.cli.tasks import task_parts
from companyos.cli.terminal import FAILED, INTERRUPTED, OUT, USAGE_ERROR, fail, report_errors, sanitize

if TYPE_CHECKING:
    from companyos.cli.human_policy import HumanPolicy
    from companyos.runner import EpisodePlan, PlayedEpisode

SCENARIO, SEED, CHAOS = "vendor_onboarding", 0, 1
RUNS = Path("runs")


def play(
    scenario: Annotated[str | None, typer.Option(help=f"Scenario to play. Default: {SCENARIO}.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help=f"Seed of the episode. Default: {SEED}.")] = None,
    chaos: Annotated[
        int | None,
        typer.Option(metavar="LEVEL", min=0, max=LARGEST_CHAOS, help=f"Chaos level: {LEVELS}. Default: {CHAOS}."),
    ] = None,
    override: OverrideOption = None,
    task: Annotated[str | None, typer.Option(metavar="ID", help="Play this task of a split, by its id.")] = None,
    out: Annotated[
        Path | None, typer.Option(file_okay=False, help="Folder for the run. Default: the next free runs/played-N.")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser", help="Open the company's web pages in a browser.")] = False,
    url: UrlOption = None,
    token: TokenOption = None,
) -> None:
    """Play an episode yourself: read the brief, call the tools, finish, and see your score.

    You see what an agent sees and are scored the same way. The company's web
    pages can be used as well. The run is stored in the format of `companyos
    eval`.

    Examples:

      [cyan]companyos play[/]
      [cyan]companyos play --scenario bug_escalation --seed 7 --chaos 3[/]
      [cyan]companyos play --task test.bug_escalation.3.05 --browser[/]
      [cyan]companyos play --url http://host:8000 --out runs/mine[/]
      [cyan]companyos play < steps.txt[/]        read the input from a file

    Ctrl-C or the end of the input abandons the episode; it is scored in its
    current state.
    """
    if task is not None and (scenario, seed, chaos, override) != (None, None, None, None):
        fail("--task cannot be combined with --scenario, --seed, --chaos or --override", USAGE_ERROR)
    overrides = parse_overrides(override)
    check_seeds(seed or 0, 1)
    if task is not None:
        task_parts(task)
    folder = out or _free_folder()
    _check_no_run(folder)
    with report_errors(), connect_or_start(url, token) as server:
        plan = replace(_plan(scenario, seed, chaos, task), chaos_overrides=overrides)
        played, is_interrupted = _play(server, plan, folder, browser=browser)
        _print_score(folder, plan)
    if played.record.outcome == "infra_error":
        raise typer.Exit(FAILED)
    if is_interrupted:
        raise typer.Exit(INTERRUPTED)


def _play(server: Server, plan: EpisodePlan, folder: Path, *, browser: bool) -> tuple[PlayedEpisode, bool]:
    from companyos.cli.human_policy import play_as_human
    from companyos.cli.repl import EpisodePages, Repl

    def run_session(human: HumanPolicy) -> None:
        pages = EpisodePages(server.url, str(human.initial_state.episode_id), human.initial_state.token)
        repl = Repl(human, pages)
        repl.print_task()
        if browser:
            pages.open()
        repl.play()

    return play_as_human(server, plan, folder, run_session)


def _plan(scenario: str | None, seed: int | None, chaos: int | None, task: str | None) -> EpisodePlan:
    from companyos.cli.human_policy import PERSON
    from companyos.runner import EpisodePlan

    if task is not None:
        task_scenario, level = task_parts(task)
        return EpisodePlan(scenario=task_scenario, chaos=level, policy=PERSON, task_id=task)
    return EpisodePlan(
        scenario=scenario or SCENARIO,
        seed=SEED if seed is None else seed,
        chaos=CHAOS if chaos is None else chaos,
        policy=PERSON,
    )


def _free_folder() -> Path:
    """Return the next unused run folder."""
    number = 1
    while (folder := RUNS / f"played-{number}").exists():
        number += 1
    return folder


def _check_no_run(folder: Path) -> None:
    """End the command if the folder already contains a run."""
    from companyos.runner.run_writer import RunExistsError, check_no_run

    try:
        check_no_run(folder)
    except RunExistsError as error:
        fail(f"{error.fact}: choose another folder with --out", USAGE_ERROR)


def _print_score(folder: Path, plan: EpisodePlan) -> None:
    """Print the result of the stored episode check by check, and its folder."""
    from companyos.cli.episode_report import print_score
    from companyos.cli.view import installed_rescorer
    from companyos.viewer.stored_run import StoredRun

    print_score(StoredRun(folder).episode(plan.name, installed_rescorer()))
    folder_text = sanitize(str(folder))
    OUT.print(
        f"\n[dim]stored in[/] {folder_text}[dim]; view every step with[/] companyos view {folder_text}", soft_wrap=True
    )
