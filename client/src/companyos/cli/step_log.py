"""Formats steps as lines: time, tool, result and reward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

from companyos.cli.results import format_reward
from companyos.cli.terminal import sanitize
from companyos.policies import StepView

if TYPE_CHECKING:
    from companyos.runner import StepLine

_COLUMNS = {"#": 3, "simulated": 12, "tool": 34, "result": 0, "reward": 6, "return": 6}
_NUMBERS = ("#", "reward", "return")
STEP_COST = -0.1
"""Reward of an ordinary step; it is printed without a color."""

_OUTAGE_STATUSES = (429, 503, 504)
"""Error codes of injected faults, which the caller did not cause."""

_MIN_OUTCOME_CHARS = 14
_MAX_OUTCOME_CHARS = 48

_KEY_FIELDS = ("id", "key", "status", "priority", "verified", "value", "is_stale", "approver_id", "title", "name")
_MAX_FIELDS = 3
_MINUTES_A_DAY = 24 * 60


def step_log_header(width: int) -> Table:
    """Return the header of the step lines for a terminal width."""
    return _row([f"[dim]{name}[/]" for name in _COLUMNS], width)


def step_line(line: StepLine, step: StepView, total: float, width: int) -> Table:
    """Return the line of a step; `total` is the return including it."""
    cells = [
        f"[dim]{line.step}[/]",
        f"[dim]{step.now:%a %d %H:%M}[/]",
        f"[cyan]{sanitize(line.tool)}[/]",
        _format_outcome(line.tool, step),
        f"[dim]{step.reward:+.1f}[/]" if step.reward == STEP_COST else format_reward(step.reward),
        format_reward(total),
    ]
    return _row(cells, width)


def _row(cells: list[str], width: int) -> Table:
    fixed = sum(_COLUMNS.values()) + len(_COLUMNS) - 1
    outcome_width = min(max(width - fixed, _MIN_OUTCOME_CHARS), _MAX_OUTCOME_CHARS)
    table = Table.grid(padding=(0, 1, 0, 0), pad_edge=False)
    for name, chars in _COLUMNS.items():
        justify = "right" if name in _NUMBERS else "left"
        table.add_column(width=chars or outcome_width, no_wrap=True, overflow="ellipsis", justify=justify)  # type: ignore[arg-type]
    table.add_row(*cells)
    return table


def _format_outcome(tool: str, step: StepView) -> str:
    if step.error is not None:
        return f"[red]{sanitize(step.error)}[/]"
    result = step.result
    if step.problem is not None:
        colour = "yellow" if result["status"] in _OUTAGE_STATUSES else "red"
        return f"[{colour}]{result['status']} {sanitize(step.problem)}[/]"
    if tool == "wait" and isinstance(result, dict):
        return f"waited {_format_duration(int(result.get('waited_minutes', 0)))}"
    if isinstance(result, dict):
        return sanitize(_summarize_result(result))
    return "[dim]none[/]" if result is None else sanitize(str(result))


def _summarize_result(result: dict[str, Any]) -> str:
    """Return the most useful fields of a response."""
    if isinstance(items := result.get("items"), list):
        return f"{result.get('total', len(items))} found"
    if isinstance(readings := result.get("readings"), list) and readings:
        first = readings[0]
        return f"{first['value']:g} {first['unit']}, {'stale' if first['is_stale'] else 'fresh'}"
    if isinstance(holders := result.get("holders"), list) and holders:
        away = " (out of office)" if holders[0]["out_of_office"] else ""
        return f"{holders[0]['person']['name']}{away}"
    scalars = {name: value for name, value in result.items() if isinstance(value, str | int | float)}
    names = [name for name in _KEY_FIELDS if name in scalars] or list(scalars)
    return ", ".join(_format_field(name, scalars[name]) for name in names[:_MAX_FIELDS])


def _format_field(name: str, value: object) -> str:
    if isinstance(value, bool):
        return name.removeprefix("is_") if value else f"not {name.removeprefix('is_')}"
    return str(value).replace("_", " ") if name == "status" else str(value)


def _format_duration(minutes: int) -> str:
    days, rest = divmod(minutes, _MINUTES_A_DAY)
    hours, left = divmod(rest, 60)
    parts = [(days, "d"), (hours, "h"), (left, "min")]
    return " ".join(f"{count} {unit}" for count, unit in parts if count) or "0 min"
