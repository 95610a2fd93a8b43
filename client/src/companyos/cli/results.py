"""The table of results, as `eval` and `demo` print it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from companyos.cli.terminal import plain_table, pluralize, sanitize

if TYPE_CHECKING:
    from companyos.runner import PlayedEpisode, Summary
    from companyos.runner.statistics import UsageTotals


def results_table(summaries: Sequence[Summary], title: str) -> Table:
    """Return one row for each policy: mean return, success with its 95 % interval, steps, pass^k for trials."""
    passes = pass_hat_ks(max(summary.fewest_trials for summary in summaries))
    table = plain_table(title)
    table.add_column("policy", style="bold")
    success = "pass@1" if passes else "success"
    columns = ("episodes", "mean return", success, "95 % interval", "mean steps", "infra errors")
    for column in (*columns, *(f"pass^{k}" for k in passes)):
        table.add_column(column, justify="right")
    for summary in summaries:
        passed = [summary.pass_hat(k) for k in passes]
        table.add_row(*result_cells(summary), *("-" if one is None else f"{one:.1%}" for one in passed))
    return table


def pass_hat_ks(trials: int) -> list[int]:
    """Return the k of the pass^k that so many trials tell of: powers of two, and the number of trials itself."""
    return sorted({k for k in (2, 4, 8, 16, trials) if 1 < k <= trials})


def result_cells(summary: Summary) -> list[str]:
    """Return the cells of one row."""
    broken = f"[bold red]{summary.infra_errors}[/]" if summary.infra_errors else "0"
    return [
        summary.policy,
        str(summary.episodes),
        format_reward(summary.mean_return, 2),
        f"{summary.success_rate:.1%}",
        f"{summary.success_low:.1%} - {summary.success_high:.1%}",
        f"{summary.mean_steps:.1f}",
        broken,
    ]


def usage_table(totals: Sequence[UsageTotals]) -> Table:
    """Return two rows for each model: what all its episodes took, and what one took on average."""
    table = plain_table()
    table.add_column("model", style="bold", overflow="fold")
    for column in ("", "requests", "sent again", "tokens in", "tokens out", "seconds waited", "cost"):
        table.add_column(column, justify="right", no_wrap=True)
    for one in totals:
        table.add_row(sanitize(one.model), pluralize(one.episodes, "episode"), *_expense_cells(one, 1))
        table.add_row("", "each", *_expense_cells(one, one.episodes), style="dim")
    return table


def _expense_cells(one: UsageTotals, parts: int) -> list[str]:
    """Return the cells of one row: the sums, divided into so many parts."""
    requests = [f"{count / parts:,.{0 if parts == 1 else 1}f}" for count in (one.requests, one.retries)]
    tokens = [f"{count / parts:,.0f}" for count in (one.prompt_tokens, one.completion_tokens)]
    cost = "-" if one.cost is None else f"{one.cost / parts:,.4f}"
    return [*requests, *tokens, f"{one.latency_s / parts:,.1f}", cost]


def format_reward(value: float, digits: int = 1) -> str:
    """Return a reward with its sign, green above zero and red below."""
    rounded = round(value, digits) + 0.0  # no -0.0
    colour = "green" if rounded > 0 else "red" if rounded < 0 else "dim"
    return f"[{colour}]{rounded:+.{digits}f}[/]"


def failure_lines(played: Sequence[PlayedEpisode]) -> list[str]:
    """Return a line for each episode that the house or the policy broke."""
    return [f"{episode.plan.name}: {episode.trouble}" for episode in played if episode.trouble is not None]
