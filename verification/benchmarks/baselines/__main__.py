"""`make baselines`: plays the policies that need no model and writes results/baselines.md."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from companyos.cli.terminal import OUT, USAGE_ERROR, fail, report_errors, sanitize
from companyos.policies import policy_names
from verification.benchmarks.baselines.page import NAME, PageError, read_figures, write_page
from verification.benchmarks.baselines.results import InvalidRunError, row_of
from verification.benchmarks.baselines.runner import POLICIES, TASKS, TRIALS, Plan, play_baselines, sessions

app = typer.Typer(
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
def baselines(
    policy: Annotated[
        list[str] | None,
        typer.Option(help=f"Policy to play; repeat for more: {', '.join(POLICIES)}.", show_default=False),
    ] = None,
    tasks: Annotated[
        int, typer.Option("-n", "--tasks", min=1, help="Number of test tasks, evenly over levels and scenarios.")
    ] = TASKS,
    trials: Annotated[int, typer.Option("-k", "--trials", min=1, help="Episodes per task and policy.")] = TRIALS,
    add: Annotated[
        list[Path] | None, typer.Option(help="Add a run of `companyos eval` on the same tasks as a row.")
    ] = None,
    no_play: Annotated[bool, typer.Option("--no-play", help="Reuse the rows of the existing page.")] = False,
    runs: Annotated[Path, typer.Option(help="Folder of the runs, with one subfolder per policy.")] = Path(
        "runs/baselines"
    ),
    page: Annotated[Path, typer.Option(help="Output folder of the page, plot and JSON file.")] = Path("results"),
    url: Annotated[str | None, typer.Option(help="URL of a running gateway; by default one is started.")] = None,
    parallel: Annotated[int, typer.Option(min=1, help="Concurrent episodes.")] = 4,
) -> None:
    """Play the same tasks with every baseline policy and write results/baselines.md, .png and .json.

    A full run plays 2,400 episodes in about 8 minutes of processor time. After Ctrl-C, the same command resumes:
    episodes in runs/baselines are not played again. Delete that folder after a change of the code.

    Examples:

      [cyan]make baselines[/]                                     full run
      [cyan]make baselines ARGS="--no-play"[/]                    rewrite the page, for example after `make learn`
      [cyan]make baselines ARGS="--no-play --add runs/mine"[/]    add a row for your own run
      [cyan]make baselines ARGS="-n 5 --runs runs/few --page runs"[/]  small run in other folders

    Your own run must play the same tasks:

      [cyan]companyos eval --policy mine --split test -n 200 --trials 2 --out runs/mine[/]

    Each folder in runs/baselines is also a run: `companyos view runs/baselines/worker3` shows why episodes failed.
    """
    unknown = sorted({*(policy or ())} - {*policy_names()})
    if unknown:
        fail(f"Unknown policy {unknown[0]!r}; installed policies: {', '.join(policy_names())}", USAGE_ERROR)
    plan = Plan(policies=tuple(policy or POLICIES), tasks=tasks, trials=trials, folder=runs, parallel=parallel)
    with report_errors():
        if not no_play:
            _play(plan, url)
        _write(plan, add or [], page, no_play=no_play)
    OUT.print(f"written: {sanitize(str(page / NAME))}.md, .png and .json", soft_wrap=True)


def _play(plan: Plan, url: str | None) -> None:
    stop = play_baselines(plan, url=url)
    if stop is not None:
        fail(stop.reason or "stopped; run the same command to resume", stop.code)


def _write(plan: Plan, added: list[Path], page: Path, *, no_play: bool) -> None:
    """Write the page from the runs, or from the previous figures, and the added runs."""
    try:
        if no_play:
            rows, took = read_figures(page)
        else:
            rows = [row_of(plan.folder_of(name), command=plan.command_of(name)) for name in plan.policies]
            took = sessions(plan.folder)
        write_page([*rows, *map(row_of, added)], took, page)
    except (InvalidRunError, PageError) as reason:
        fail(str(reason), USAGE_ERROR)


if __name__ == "__main__":
    app(prog_name="make baselines")
