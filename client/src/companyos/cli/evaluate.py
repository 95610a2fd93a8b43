"""`companyos eval`: plays a policy on many tasks and reports its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from companyos.cli import model as model_options
from companyos.cli.connection import (
    LARGEST_CHAOS,
    LEVELS,
    OverrideOption,
    TokenOption,
    UrlOption,
    check_seeds,
    connect_or_start,
    parse_overrides,
)
from companyos.cli.eval_runs import (
    EarlyStop,
    RayCluster,
    RunLimits,
    SeedPlans,
    check_cluster,
    play_with_progress,
    split_plans,
    task_plans,
    with_trials,
)
from companyos.cli.results import cache_line, features_table, results_table, scorecard_table, usage_table
from companyos.cli.tasks import SplitOption, check_split_options, task_parts
from companyos.cli.terminal import ERR, FAILED, OUT, USAGE_ERROR, fail, pluralize, report_errors, sanitize

if TYPE_CHECKING:
    from companyos.contract import EpisodeRecord
    from companyos.policies import Policy
    from companyos.runner import EpisodePlan, PlayedEpisode

SEEDS = 10
"""Default number of seeds."""

LIMITS = "Limits; --resume continues a run that reached one"
_TROUBLES_SHOWN = 10


def evaluate(
    policy: Annotated[
        list[str] | None,
        typer.Option(help="Policy to evaluate, by name or as MODULE:CLASS. Repeat to compare several."),
    ] = None,
    scenario: Annotated[
        list[str] | None,
        typer.Option(
            help="Scenario to play. Repeat for several. Default: vendor_onboarding, or all scenarios of a split."
        ),
    ] = None,
    episodes: Annotated[
        int | None,
        typer.Option(
            "--episodes",
            "-n",
            min=1,
            help="Number N of seeds per scenario and level, or of tasks of a split. Default: 10 seeds, or all tasks.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="First seed S. Default: 0.")] = None,
    trials: Annotated[int, typer.Option("--trials", "-k", min=1, help="Episodes per task and policy, for pass^k.")] = 1,
    chaos: Annotated[
        list[int] | None,
        typer.Option(
            metavar="LEVEL",
            min=0,
            max=LARGEST_CHAOS,
            help=f"Chaos level: {LEVELS}. Repeat for several. Default: 1, or all levels of a split.",
        ),
    ] = None,
    override: OverrideOption = None,
    split: SplitOption = None,
    task: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Play this task of a split, by its id. Repeat for several."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            file_okay=False, help="Write episodes.jsonl, trajectories, evidence and model messages to this folder."
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the run in --out; finished episodes are not repeated.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run in --out.")] = False,
    plot: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write a PNG chart of return and success by chaos level.")
    ] = None,
    url: UrlOption = None,
    token: TokenOption = None,
    parallel: Annotated[int, typer.Option(min=1, help="Concurrent episodes; with --cluster, per worker.")] = 4,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="auto|ADDRESS",
            help="Play on a Ray cluster: that in RAY_ADDRESS or of this machine, or one that is started for the run "
            r"(auto), or that at an address. Its nodes need companyos\[ray,server].",
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of workers with --cluster. Default: one per CPU.")
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Start no more episodes once the run has cost this much. Needs prices.",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            min=1, help="Start no more episodes once the run has used so many tokens.", rich_help_panel=LIMITS
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            min=0.0, metavar="SECONDS", help="Start no more episodes after so many seconds.", rich_help_panel=LIMITS
        ),
    ] = None,
    episode_max_cost: Annotated[
        float | None,
        typer.Option(min=0.0, help="Abort an episode that has cost this much. Needs prices.", rich_help_panel=LIMITS),
    ] = None,
    episode_max_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Abort an episode once it has used this many tokens.", rich_help_panel=LIMITS),
    ] = None,
    episode_time_limit: Annotated[
        float | None,
        typer.Option(
            min=0.1, metavar="SECONDS", help="Abort an episode after this many seconds.", rich_help_panel=LIMITS
        ),
    ] = None,
    model_name: model_options.ModelOption = None,
    api: model_options.ApiOption = "chat",
    base_url: model_options.BaseUrlOption = None,
    temperature: model_options.TemperatureOption = None,
    max_output_tokens: model_options.MaxOutputOption = None,
    context_limit: model_options.ContextLimitOption = None,
    price_in: model_options.PriceInOption = None,
    price_cached: model_options.PriceCachedOption = None,
    price_cache_write: model_options.PriceCacheWriteOption = None,
    price_out: model_options.PriceOutOption = None,
    request_timeout: model_options.TimeoutOption = 300.0,
    retries: model_options.RetriesOption = 6,
    extra_body: model_options.ExtraBodyOption = None,
    dry_run: model_options.DryRunOption = False,
) -> None:
    """Play a policy on seeds S to S+N-1, or on tasks of a split, and print its results.

    The table shows mean return, success rate with 95 % interval, and steps. For
    models it adds tokens, time and cost.

    Examples:

      [cyan]companyos eval --policy oracle[/]                      the solver, 10 seeds
      [cyan]companyos eval --policy random -n 300 --out runs/r[/]  store the run
      [cyan]companyos eval --policy oracle --policy noop[/]        side by side
      [cyan]companyos eval --policy oracle --split test -n 40[/]   tasks of a split
      [cyan]companyos eval --policy oracle --task test.bug_escalation.3.05[/]
      [cyan]companyos eval --policy random --trials 4[/]           four trials each
      [cyan]companyos eval --policy my_agent:MyAgent[/]            a class in my_agent.py
      [cyan]companyos eval --policy mine --url http://host:8000[/]
      [cyan]companyos eval --policy worker1 --chaos 0 --chaos 4 --plot curves.png[/]
      [cyan]companyos eval --policy oracle --scenario shift-day --override freeze=0[/]
      [cyan]companyos eval --policy oracle --split test --out runs/o --cluster auto[/]

    Evaluate a model, first as a dry run without requests to it:

      [cyan]companyos eval --policy llm --model gpt-5 -n 2 --dry-run[/]
      [cyan]companyos eval --policy llm --model gpt-5 --split test --out runs/m[/]
      [cyan]companyos eval --policy llm --model gpt-5 --split test --out runs/m --resume[/]
      [cyan]companyos eval --policy llm --model qwen3 --base-url http://host:8080/v1[/]
      [cyan]companyos eval --policy llm --api responses --model gpt-5[/]
      [cyan]companyos eval --policy llm --api anthropic --model claude-sonnet-4-5[/]

    Policies are entry points of the group `companyos.policies`; without
    `--policy` they are listed. MODULE:CLASS names a class of an installed
    module or of one in this folder. The exit status is 1 if the environment or
    an endpoint failed in an episode, if a policy raised an exception in all of
    its episodes, or if the run stopped early.
    """
    policy, imported = _find_policies(policy or [])
    overrides = parse_overrides(override)
    _check_tasks(
        task or (),
        {
            "--split": split,
            "--scenario": scenario,
            "--seed": seed,
            "--chaos": chaos,
            "--episodes": episodes,
            "--override": override,
        },
    )
    _check_split(split, seed, overrides)
    check_seeds(seed or 0, episodes or SEEDS)
    _check_folder(out, resume=resume, overwrite=overwrite)
    _check_plot(plot)
    model_options.check_policies(policy, model_name, dry_run=dry_run)
    find_settings = partial(
        model_options.read_settings,
        model=model_name,
        api=api,
        base_url=base_url,
        temperature=temperature,
        max_output_tokens=max_output_tokens,
        context_limit=context_limit,
        price_in=price_in,
        price_cached=price_cached,
        price_cache_write=price_cache_write,
        price_out=price_out,
        max_tokens=episode_max_tokens,
        max_cost=episode_max_cost,
        timeout_s=request_timeout,
        retries=retries,
        extra_body=extra_body,
        is_dry_run=dry_run,
    )
    if max_cost is not None and price_in is None:
        fail("--max-cost needs --price-in and --price-out", USAGE_ERROR)
    check_cluster(cluster, workers=workers, url=url, dry_run=dry_run, imports_policies=bool(imported))
    scenarios, levels = tuple(dict.fromkeys(scenario or ())), tuple(sorted(set(chaos or ())))
    with (
        report_errors(),
        model_options.select_policies(policy, find_settings) as selection,
        connect_or_start(url, token) as server,
    ):
        plans_of: Callable[[str], list[EpisodePlan]]
        if task:
            title, plans_of = task_plans(server, task)
        elif split is None:
            seed_plans = SeedPlans(
                scenarios or ("vendor_onboarding",), levels or (1,), seed or 0, episodes or SEEDS, overrides
            )
            title, plans_of = seed_plans.title, seed_plans.plans
        else:
            title, plans_of = split_plans(server, split, scenarios, levels, episodes)
        plans = [plan for name in selection.names(policy) for plan in with_trials(plans_of(name), trials)]
        player = server if cluster is None else RayCluster(cluster, workers)
        played, stop = play_with_progress(
            player,
            plans,
            parallel=parallel,
            out=out,
            make_policy=lambda name: imported[name]() if name in imported else selection.make_policy(name),
            resume=resume,
            overwrite=overwrite,
            limits=RunLimits(cost=max_cost, tokens=max_tokens, seconds=time_limit),
            episode_time_s=episode_time_limit,
        )
        title = f"dry run: {title}" if dry_run else title
        _print_results(played, title, out)
        selection.print_note()
    if plot is not None and played:
        _plot(played, title, plot)
    if stop is not None:
        _print_stop(stop, len(played), len(plans), out)
    if any(episode.record.outcome == "infra_error" for episode in played) or _raised_in_all_episodes(played):
        raise typer.Exit(FAILED)


def _find_policies(given: list[str]) -> tuple[list[str], dict[str, Callable[[], Policy]]]:
    """Return the names of the policies, and the classes of those given as MODULE:CLASS; end the command for others."""
    from companyos.policies import import_policy, policy_names

    installed = ", ".join(policy_names())
    if not given:
        fail(f"--policy is required; installed policies: {installed}", USAGE_ERROR)
    names, imported = [], {}
    for one in given:
        if ":" in one:
            with report_errors():
                name, imported[name] = import_policy(one)
        elif (name := one) not in policy_names():
            fail(f"policy must be one of {installed}, or MODULE:CLASS; got {one!r}", USAGE_ERROR)
        if name in names:
            fail(f"policies must have different names; {name!r} is that of two", USAGE_ERROR)
        names.append(name)
    return names, imported


def _check_plot(plot: Path | None) -> None:
    """End the command if the plot cannot be written."""
    if plot is None:
        return
    if plot.suffix != ".png":
        fail(f"--plot must end in .png; got {str(plot)!r}", USAGE_ERROR)
    if not plot.parent.is_dir():
        fail(f"the folder of --plot does not exist: {str(plot.parent)!r}", USAGE_ERROR)


def _raised_in_all_episodes(played: list[PlayedEpisode]) -> bool:
    """Return whether one of the policies raised an exception in each of its episodes."""
    from companyos.runner.statistics import has_policy_error

    policies = {episode.plan.policy for episode in played}
    return bool(policies - {episode.plan.policy for episode in played if not has_policy_error(episode.record)})


def _check_tasks(task_ids: Sequence[str], others: Mapping[str, object]) -> None:
    """End the command if --task is malformed or combined with an option that selects other tasks."""
    if not task_ids:
        return
    for option, value in others.items():
        if value is not None:
            fail(f"--task and {option} cannot be combined: a task id stands for one fixed task", USAGE_ERROR)
    for task_id in task_ids:
        task_parts(task_id)


def _check_split(split: str | None, seed: int | None, overrides: tuple[tuple[str, float], ...]) -> None:
    """End the command if --split is unknown or combined with what its tasks set."""
    if split is None:
        return
    check_split_options(split, seed)
    if overrides:
        fail("--split and --override cannot be combined: a task of a split has its own rates", USAGE_ERROR)


def _check_folder(out: Path | None, *, resume: bool, overwrite: bool) -> None:
    """End the command if --resume, --overwrite and --out conflict."""
    if (resume or overwrite) and out is None:
        fail("--resume and --overwrite need --out DIR", USAGE_ERROR)
    if resume and overwrite:
        fail("--resume and --overwrite cannot be combined", USAGE_ERROR)


def _print_stop(stop: EarlyStop, played: int, planned: int, out: Path | None) -> NoReturn:
    resume_hint = "; continue it with --resume" if out is not None and played else ""
    ERR.print(f"stopped after {played} of {planned} episodes{resume_hint}", style="yellow")
    stop.end_command()


def _print_results(played: list[PlayedEpisode], title: str, out: Path | None) -> None:
    """Print a table of all episodes, and one per chaos level if there are several."""
    levels = sorted({episode.record.chaos for episode in played})
    if played:
        _print_table(played, title)
    for level in levels if len(levels) > 1 else ():
        OUT.print()
        _print_table([episode for episode in played if episode.record.chaos == level], f"chaos {level}")
    _print_expenses(played)
    lines = [f"{episode.plan.name}: {episode.trouble}" for episode in played if episode.trouble is not None]
    for line in lines[:_TROUBLES_SHOWN]:
        ERR.print(f"[yellow]trouble:[/] {sanitize(line)}", soft_wrap=True)
    if len(lines) > _TROUBLES_SHOWN:
        ERR.print(f"[yellow]failed:[/] {pluralize(len(lines) - _TROUBLES_SHOWN, 'more episode')}", soft_wrap=True)
    if out is not None and played:
        OUT.print(f"\n[dim]{pluralize(len(played), 'episode')} in[/] {sanitize(str(out))}", soft_wrap=True)


def _print_table(played: list[PlayedEpisode], title: str) -> None:
    from companyos.runner import summarise

    records: dict[str, list[EpisodeRecord]] = {}
    for episode in played:
        records.setdefault(episode.plan.policy, []).append(episode.record)
    OUT.print(results_table([summarise(group) for group in records.values()], title))
    if any(episode.record.scorecard is not None for episode in played):
        OUT.print(scorecard_table(records))
    if table := features_table(records):
        OUT.print(table)


def _print_expenses(played: list[PlayedEpisode]) -> None:
    """Print the usage of the models, if there are any."""
    from companyos.runner.statistics import usage_totals

    totals = usage_totals([episode.record for episode in played])
    if not totals:
        return
    OUT.print()
    OUT.print(usage_table(totals))
    for usage in totals:
        if usage.unmetered:
            note = f"{usage.unmetered} responses of {usage.model} reported no token usage and are not counted"
            ERR.print(f"[yellow]note:[/] {sanitize(note)}", soft_wrap=True)
        if parts := cache_line(usage):
            OUT.print(parts, soft_wrap=True)
        if usage.first_drop is not None:
            dropped = f"{pluralize(usage.dropped_results, 'tool result')} and {pluralize(usage.dropped_turns, 'turn')}"
            OUT.print(f"dropped to save context: {dropped}, from request {usage.first_drop} on", soft_wrap=True)
        if usage.gave_up:
            gave_up = f"{sanitize(usage.model)} gave up {usage.gave_up} of {usage.episodes} episodes"
            ERR.print(f"[yellow]note:[/] {gave_up}", soft_wrap=True)


def _plot(played: list[PlayedEpisode], title: str, file: Path) -> None:
    from companyos.runner.plots import draw_curves

    try:
        with report_errors():
            draw_curves([episode.record for episode in played], file, title=title)
    except ImportError as error:
        fail(str(error))
    OUT.print(f"[dim]curves in[/] {sanitize(str(file))}", soft_wrap=True)
