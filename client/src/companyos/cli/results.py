"""Result tables of `eval` and `demo`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from companyos.cli.terminal import plain_table, pluralize, sanitize

if TYPE_CHECKING:
    from companyos.contract import EpisodeRecord
    from companyos.runner import Summary
    from companyos.runner.statistics import UsageTotals

ORACLE = "oracle"
"""The policy whose steps others are compared with, if it played in the same run."""


def results_table(summaries: Sequence[Summary], title: str) -> Table:
    """Return a table with one row per policy: mean return, success with interval, steps, and pass^k with trials."""
    from companyos.runner.statistics import pass_ks

    passes = pass_ks(max(summary.fewest_trials for summary in summaries))
    table = plain_table(title)
    table.add_column("policy", style="bold")
    success = "pass@1" if passes else "success"
    columns = ("episodes", "mean return", success, "95 % interval", "mean steps", "policy errors", "infra errors")
    for column in (*columns, *(f"pass^{k}" for k in passes)):
        table.add_column(column, justify="right")
    for summary in summaries:
        passed = [summary.pass_hat(k) for k in passes]
        table.add_row(*result_cells(summary), *("-" if share is None else f"{share:.1%}" for share in passed))
    return table


def result_cells(summary: Summary) -> list[str]:
    """Return the cells of one row."""
    return [
        summary.policy,
        str(summary.episodes),
        format_reward(summary.mean_return, 2),
        f"{summary.success_rate:.1%}",
        f"{summary.success_low:.1%} - {summary.success_high:.1%}",
        f"{summary.mean_steps:.1f}",
        *(f"[bold red]{count}[/]" if count else "0" for count in (summary.policy_errors, summary.infra_errors)),
    ]


def scorecard_table(records: Mapping[str, Sequence[EpisodeRecord]]) -> Table:
    """Return a table with one row per policy: what its episodes did besides succeeding or failing."""
    from companyos.report.figures import scores_of
    from companyos.runner.statistics import steps_ratio

    table = plain_table("scorecard")
    table.add_column("policy", style="bold")
    columns = ["partial credit", "recovered", "injections resisted", "duplicates", "collateral", "refused approvers"]
    oracle = records.get(ORACLE)
    for column in [*columns, *(["steps / oracle"] if oracle else [])]:
        table.add_column(column, justify="right")
    for policy, played in records.items():
        scores = scores_of(played)
        if scores is not None:
            table.add_row(
                policy,
                f"{scores.partial_credit:.1%}",
                f"{scores.faults_recovered} of {scores.affected_calls}",
                f"{scores.injections_resisted} of {scores.injections}",
                str(scores.duplicates),
                str(scores.collateral_changes),
                str(scores.refused_approvers),
                *([_format_ratio(steps_ratio(played, oracle))] if oracle else []),
            )
    return table


def _format_ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"


def features_table(records: Mapping[str, Sequence[EpisodeRecord]]) -> Table | None:
    """Return a table with one row per feature of shifts: how many of the tickets that ask for it each policy solved.

    None if no episode is a shift.
    """
    counts = {policy: count_features(played) for policy, played in records.items()}
    names = list(dict.fromkeys(name for found in counts.values() for name in found))
    if not names:
        return None
    table = plain_table("tickets solved, by what shifts ask for")
    table.add_column("feature", style="bold", no_wrap=True)
    for policy in counts:
        table.add_column(policy, justify="right", overflow="fold")
    for name in names:
        cells = [found.get(name) for found in counts.values()]
        table.add_row(name.replace("_", " "), *("-" if one is None else f"{one[1]} of {one[0]}" for one in cells))
    return table


def count_features(records: Sequence[EpisodeRecord]) -> dict[str, tuple[int, int]]:
    """Return for each feature of shifts how many tickets ask for it, and how many of them are solved."""
    totals: dict[str, tuple[int, int]] = {}
    for record in records:
        features = record.verdict.features if record.verdict is not None else None
        for name, count in (features or {}).items():
            tickets, solved = totals.get(name, (0, 0))
            totals[name] = tickets + count.tickets, solved + count.solved
    return totals


def usage_table(totals: Sequence[UsageTotals]) -> Table:
    """Return a table with two rows per model: the totals of its episodes, and the average per episode."""
    table = plain_table()
    table.add_column("model", style="bold", overflow="fold")
    for column in ("", "requests", "sent again", "tokens in", "tokens out", "seconds waited", "cost"):
        table.add_column(column, justify="right", no_wrap=True)
    for usage in totals:
        table.add_row(sanitize(usage.model), pluralize(usage.episodes, "episode"), *_expense_cells(usage, 1))
        table.add_row("", "each", *_expense_cells(usage, usage.episodes), style="dim")
    return table


def _expense_cells(usage: UsageTotals, parts: int) -> list[str]:
    """Return the cells of one row: the totals divided by `parts`."""
    requests = [f"{count / parts:,.{0 if parts == 1 else 1}f}" for count in (usage.requests, usage.retries)]
    tokens = [f"{count / parts:,.0f}" for count in (usage.prompt_tokens, usage.completion_tokens)]
    cost = "-" if usage.cost is None else f"{usage.cost / parts:,.4f}"
    return [*requests, *tokens, f"{usage.latency_s / parts:,.1f}", cost]


def cache_line(usage: UsageTotals) -> str:
    """Return how many tokens of a model were cached or reasoning; empty if none were."""
    counts = {
        "read from the cache": usage.cached_tokens,
        "written to it": usage.cache_write_tokens,
        "of reasoning": usage.reasoning_tokens,
    }
    parts = [f"{count:,} {name}" for name, count in counts.items() if count]
    return f"tokens of {sanitize(usage.model)}: {', '.join(parts)}" if parts else ""


def format_reward(value: float, digits: int = 1) -> str:
    """Return a reward with its sign, green above zero and red below."""
    rounded = round(value, digits) + 0.0  # avoids -0.0
    colour = "green" if rounded > 0 else "red" if rounded < 0 else "dim"
    return f"[{colour}]{rounded:+.{digits}f}[/]"
