"""The terminal: where results and troubles go, and how an expected failure becomes one clear line."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

FILE_WIDTH = 120
"""Characters a line when nobody looks: a log is not narrower than a screen."""

_WIDE = 100
"""Characters from which on a table may be airy."""

_ID_CHARS = 24
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

OUT = Console(highlight=False)
if not OUT.is_terminal:
    OUT.width = max(OUT.width, FILE_WIDTH)
ERR = Console(stderr=True, highlight=False)

FAILED = 1
USAGE_ERROR = 2
INTERRUPTED = 130


def pluralize(count: int, what: str) -> str:
    """Return how many of what: "1 task", "1,200 tasks"."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def plain_table(title: str | None = None, *, show_header: bool = True) -> Table:
    """Return a table without lines, its title above it."""
    return Table(
        title=title and f"{title}\n",
        title_justify="left",
        title_style="bold",
        header_style="dim",
        show_header=show_header,
        box=None,
        pad_edge=False,
    )


def data_table() -> Table:
    """Return a plain table for rows that may be wide: on a narrow terminal its columns stand closer."""
    table = plain_table()
    table.collapse_padding = OUT.width < _WIDE
    return table


def id_column_width(ids: Iterable[str | None]) -> int:
    """Return how wide a column of episode ids has to be; only a label longer than the house's own is folded."""
    return min(max(len(str(each)) for each in ids), _ID_CHARS)


def replace_control_characters(text: str) -> str:
    """Return text of the world without signs that a terminal obeys, or that change the order of others."""
    return "".join(char if char.isprintable() or char == "\n" else _REPLACEMENT for char in text)


def sanitize(text: str) -> str:
    """Return text of the world as markup: nothing in it is obeyed, neither by rich nor by the terminal."""
    return escape(replace_control_characters(text))


def has_display() -> bool:
    """Say whether a browser would have a window: without one a text browser would take the terminal."""
    return sys.platform in {"darwin", "win32"} or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def format_time(moment: datetime | None) -> str:
    """Return simulated time in a few characters."""
    return "" if moment is None else f"{moment:%d %b %H:%M}"


def print_json(value: Any) -> None:
    """Print a value for programs."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def fail(message: str, code: int = FAILED) -> NoReturn:
    """End the command with one clear line (and what a server said last, below it)."""
    first, _, rest = message.partition("\n")
    ERR.print(f"[bold red]error:[/] {sanitize(first)}", soft_wrap=True)
    if rest:
        ERR.print(replace_control_characters(rest), style="dim", markup=False, soft_wrap=True)
    raise typer.Exit(code)


@contextmanager
def report_errors() -> Iterator[None]:
    """Turn the failures that a user can meet into one line and an exit code; a bug keeps its traceback."""
    try:
        yield
    except KeyboardInterrupt:
        ERR.print("stopped", style="dim")
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:
        if (code := _exit_code(error)) is None:
            raise
        fail(str(error) or type(error).__name__, code)


def _exit_code(error: Exception) -> int | None:
    """Return the exit code of an expected failure; the names are compared so that nothing heavy is imported."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, OSError) and error.filename is not None:
        return USAGE_ERROR
    if names & {
        "UnknownPolicyError",
        "RunMismatchError",
        "ResetRejectedError",
        "FileExistsError",
        "NotADirectoryError",
        "PermissionError",
    }:
        return USAGE_ERROR
    if names & {"EnterpriseError", "ConnectionError", "ApiError", "HTTPError", "TimeoutError"}:
        return FAILED
    return None
