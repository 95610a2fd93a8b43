"""What a tool answered, for people: lists as tables, everything else by name, a refusal in its own words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table

from companyos.cli.terminal import OUT, plain_table, shown

if TYPE_CHECKING:
    from companyos.policies import StepView

_MOST_ROWS = 50
_LEAST_COLUMN_CHARS = 6
_MOST_CELL_CHARS = 40
_MOST_DEPTH = 3
_FEW_ROWS = 4
_INDENT = 2
_LIST_WORDS = frozenset({"items", "total", "next_cursor"})


def answer(step: StepView) -> RenderableType:
    """Return what a step brought, for the terminal."""
    if step.error is not None:
        return f"[red]not carried out:[/] {shown(step.message or step.error)} [dim]{shown(step.error)}[/]"
    if step.problem is not None:
        return _problem(step.result)
    return _value(step.result, 0)


def _problem(told: Mapping[str, Any]) -> RenderableType:
    head = f"[red]{told['status']} {shown(str(told['title']))}[/] [dim]{shown(str(told['code']))}[/]"
    lines: list[RenderableType] = [head]
    if told.get("detail"):
        lines.append(Padding(shown(str(told["detail"])), (0, 0, 0, 2)))
    for misfit in told.get("errors") or ():
        lines.append(Padding(shown(_plain(misfit)), (0, 0, 0, 2)))
    return Group(*lines)


def _value(value: Any, depth: int) -> RenderableType:
    match value:
        case {"items": [*rows]}:
            return _listed(value, rows)
        case {}:
            return _named(value, depth) if value else "[dim]nothing[/]"
        case [] | None | "":
            return "[dim]nothing[/]"
        case [{}, *_]:
            return _rows(value)
        case [*values]:
            return shown(", ".join(map(_plain, values)))
        case _:
            return shown(_plain(value))


def _listed(value: Mapping[str, Any], rows: Sequence[Any]) -> RenderableType:
    count = f"{len(rows)} of {value.get('total', len(rows))}"
    more = f", the next with cursor={value['next_cursor']}" if value.get("next_cursor") else ""
    rest = {name: one for name, one in value.items() if name not in _LIST_WORDS and not isinstance(one, list | dict)}
    parts: list[RenderableType] = [_rows(rows) if rows else "[dim]nothing was found[/]"]
    return Group(*parts, f"[dim]{shown(count + more)}{shown(_aside(rest))}[/]")


def _aside(rest: Mapping[str, Any]) -> str:
    return "".join(f", {name} {_plain(one)}" for name, one in rest.items() if one is not None)


def _rows(rows: Sequence[Any]) -> RenderableType:
    """Return a table of what the rows hold; few rows that are too wide for one stand below one another."""
    objects = [_flat(row) for row in rows if isinstance(row, dict)]
    names = list(dict.fromkeys(name for row in objects for name in row if _cell(row[name])))
    columns = _fitting(names, objects)
    if len(columns) < len(names) and len(objects) <= _FEW_ROWS:
        return Group(*(_named(row, 1) for row in rows if isinstance(row, dict)))
    table = plain_table()
    for name, width in columns.items():
        table.add_column(shown(name), overflow="ellipsis", no_wrap=True, max_width=width)
    for row in objects[:_MOST_ROWS]:
        table.add_row(*(shown(_cell(row.get(name))) for name in columns))
    left = f"[dim]left out for want of room: {shown(', '.join(names[len(columns) :]))}[/]"
    more = f"[dim]... {len(objects) - _MOST_ROWS} more[/]"
    notes = [left] * (len(columns) < len(names)) + [more] * (len(objects) > _MOST_ROWS)
    return Group(table, *notes) if notes else table


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with the members of its objects beside its own."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{inner}": one for inner, one in value.items()}
        else:
            flat[name] = value
    return flat


def _fitting(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the columns that the terminal has room for, each with its width."""
    left, fitting = OUT.width - _INDENT, {}
    for name in names:
        widest = max(len(_cell(row.get(name))) for row in rows)
        width = min(max(_LEAST_COLUMN_CHARS, len(name), widest), _MOST_CELL_CHARS)
        if width > left:
            break
        left -= width + 1
        fitting[name] = width
    return fitting


def _named(value: Mapping[str, Any], depth: int) -> RenderableType:
    """Return a name and what it holds, line by line; what is nested stands below its name."""
    grid = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, one in value.items():
        grid.add_row(shown(str(name)), _value(one, depth + 1) if depth < _MOST_DEPTH else shown(_plain(one)))
    return grid


def _cell(value: Any) -> str:
    return "" if value is None else " ".join(_plain(value).split())


def _plain(value: Any) -> str:
    """Return a value in one line, as people read it."""
    match value:
        case str():
            return value
        case bool():
            return "yes" if value else "no"
        case [*values] if not any(isinstance(one, dict | list) for one in values):
            return ", ".join(map(_plain, values))
        case _:
            return json.dumps(value, ensure_ascii=False)
