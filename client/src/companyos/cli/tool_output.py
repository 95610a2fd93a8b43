"""Renders tool results for people: lists as tables, other values by name, problems with their details."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table

from companyos.cli.terminal import OUT, plain_table, sanitize

if TYPE_CHECKING:
    from companyos.policies import StepView

_MAX_ROWS = 50
_MIN_COLUMN_CHARS = 6
_MAX_CELL_CHARS = 40
_MAX_DEPTH = 3
_MAX_STACKED_ROWS = 4
_INDENT = _GAP = 2
_PAGE_FIELDS = frozenset({"items", "total", "next_cursor"})


def render_step_result(step: StepView) -> RenderableType:
    """Return the result of a step for the terminal."""
    if step.error is not None:
        return f"[red]not executed:[/] {sanitize(step.message or step.error)} [dim]{sanitize(step.error)}[/]"
    if step.problem is not None:
        return _render_problem(step.result)
    return _render_value(step.result, 0, OUT.width - _INDENT)


def _render_problem(problem: Mapping[str, Any]) -> RenderableType:
    head = f"[red]{problem['status']} {sanitize(str(problem['title']))}[/] [dim]{sanitize(str(problem['code']))}[/]"
    lines: list[RenderableType] = [head]
    if problem.get("detail"):
        lines.append(Padding(sanitize(str(problem["detail"])), (0, 0, 0, 2)))
    for error in problem.get("errors") or ():
        lines.append(Padding(sanitize(_format_value(error)), (0, 0, 0, 2)))
    return Group(*lines)


def _render_value(value: Any, depth: int, width: int) -> RenderableType:
    """Return a value that takes up to `width` columns of the terminal."""
    match value:
        case {"items": [*rows]}:
            return _render_page(value, rows, width)
        case {}:
            return _render_object(value, depth, width) if value else "[dim]none[/]"
        case [] | None | "":
            return "[dim]none[/]"
        case [{}, *_]:
            return _render_table(value, width)
        case [*values]:
            return sanitize(", ".join(map(_format_value, values)))
        case _:
            return sanitize(_format_value(value))


def _render_page(value: Mapping[str, Any], rows: Sequence[Any], width: int) -> RenderableType:
    count = f"{len(rows)} of {value.get('total', len(rows))}"
    more = f", next page with cursor={value['next_cursor']}" if value.get("next_cursor") else ""
    rest = {
        name: value for name, value in value.items() if name not in _PAGE_FIELDS and not isinstance(value, list | dict)
    }
    parts: list[RenderableType] = [_render_table(rows, width) if rows else "[dim]no results[/]"]
    return Group(*parts, f"[dim]{sanitize(count + more)}{sanitize(_format_extras(rest))}[/]")


def _format_extras(rest: Mapping[str, Any]) -> str:
    return "".join(f", {name} {_format_value(value)}" for name, value in rest.items() if value is not None)


def _render_table(rows: Sequence[Any], width: int) -> RenderableType:
    """Return a table of the rows; a few rows that are too wide are listed below one another."""
    objects = [_flatten(row) for row in rows if isinstance(row, dict)]
    names = list(dict.fromkeys(name for row in objects for name in row if _format_cell(row[name])))
    columns = _fit_columns(names, objects, width)
    if len(columns) < len(names) and len(objects) <= _MAX_STACKED_ROWS:
        return Group(*(_render_object(row, 1, width) for row in rows if isinstance(row, dict)))
    table = plain_table()
    for name, width in columns.items():
        table.add_column(sanitize(name), overflow="ellipsis", no_wrap=True, max_width=width)
    for row in objects[:_MAX_ROWS]:
        table.add_row(*(sanitize(_format_cell(row.get(name))) for name in columns))
    left = f"[dim]columns not shown: {sanitize(', '.join(names[len(columns) :]))}[/]"
    more = f"[dim]... {len(objects) - _MAX_ROWS} more[/]"
    notes = [left] * (len(columns) < len(names)) + [more] * (len(objects) > _MAX_ROWS)
    return Group(table, *notes) if notes else table


def _flatten(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with the fields of its nested objects as columns."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{inner}": field for inner, field in value.items()}
        else:
            flat[name] = value
    return flat


def _fit_columns(names: Sequence[str], rows: Sequence[Mapping[str, Any]], left: int) -> dict[str, int]:
    """Return the columns that fit into `left` columns of the terminal, each with its width."""
    fitting = {}
    for name in names:
        widest = max(len(_format_cell(row.get(name))) for row in rows)
        width = min(max(_MIN_COLUMN_CHARS, len(name), widest), _MAX_CELL_CHARS)
        if width > left:
            break
        left -= width + _GAP
        fitting[name] = width
    return fitting


def _render_object(value: Mapping[str, Any], depth: int, width: int) -> RenderableType:
    """Return the fields of an object line by line; nested values are indented below their name."""
    grid = Table.grid(padding=(0, _GAP, 0, 0), pad_edge=False)
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    left = width - max(map(len, value), default=0) - _GAP
    for name, field in value.items():
        grid.add_row(
            sanitize(str(name)),
            _render_value(field, depth + 1, left) if depth < _MAX_DEPTH else sanitize(_format_value(field)),
        )
    return grid


def _format_cell(value: Any) -> str:
    return "" if value is None else " ".join(_format_value(value).split())


def _format_value(value: Any) -> str:
    """Return a value in one line."""
    match value:
        case str():
            return value
        case bool():
            return "yes" if value else "no"
        case [*values] if not any(isinstance(item, dict | list) for item in values):
            return ", ".join(map(_format_value, values))
        case _:
            return json.dumps(value, ensure_ascii=False)
