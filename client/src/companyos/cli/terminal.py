"""Terminal output: consoles, tables, sanitizing and error messages."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

FILE_WIDTH = 120
"""Line width of output that is not a terminal."""

_WIDE = 100
"""Minimum terminal width for padded tables."""

_ID_CHARS = 24
_TOKEN_REQUIRED = "token-required:"  # noqa: S105
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

OUT = Console(highlight=False, emoji=False)
if not OUT.is_terminal:
    OUT.width = max(OUT.width, FILE_WIDTH)
ERR = Console(stderr=True, highlight=False, emoji=False)

FAILED = 1
USAGE_ERROR = 2
INTERRUPTED = 130

_USAGE_PROBLEMS = frozenset(
    {
        "foreign-snapshot",
        "invalid-request",
        "invalid-reset",
        "invalid-step",
        "not-found",
        "unknown-episode",
        "unknown-scenario",
        "unknown-service",
        "unknown-snapshot",
        "unknown-task",
    }
)
"""Codes of the server's errors that are caused by an argument of the command."""


def pluralize(count: int, what: str) -> str:
    """Return a count with its noun: "1 task", "1,200 tasks"."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def plain_table(title: str | None = None, *, show_header: bool = True) -> Table:
    """Return a borderless table with its title above it."""
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
    """Return a plain table for wide rows; narrow terminals get less padding."""
    table = plain_table()
    table.collapse_padding = OUT.width < _WIDE
    return table


def id_column_width(ids: Iterable[str | None]) -> int:
    """Return the width of the column of episode ids; only user-defined ids longer than generated ones wrap."""
    return min(max(len(str(each)) for each in ids), _ID_CHARS)


def replace_control_characters(text: str) -> str:
    """Return text without terminal control characters and bidirectional overrides."""
    return "".join(char if char.isprintable() or char == "\n" else _REPLACEMENT for char in text)


def sanitize(text: str) -> str:
    """Return untrusted text escaped for rich, without control characters."""
    return escape(replace_control_characters(text))


def has_display() -> bool:
    """Return whether a display exists; without one, webbrowser would start a text browser in the terminal."""
    return sys.platform in {"darwin", "win32"} or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def format_time(moment: datetime | None) -> str:
    """Return simulated time in short form."""
    return "" if moment is None else f"{moment:%d %b %H:%M}"


def print_json(value: Any) -> None:
    """Print a value as JSON; it may contain models."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, default=lambda model: model.model_dump(mode="json")))


def fail(message: str, code: int = FAILED) -> NoReturn:
    """End the command with a one-line error (and the last lines of server output below it)."""
    first, _, rest = message.partition("\n")
    ERR.print(f"[bold red]error:[/] {sanitize(first)}", soft_wrap=True)
    if rest:
        ERR.print(replace_control_characters(rest), style="dim", markup=False, soft_wrap=True)
    raise typer.Exit(code)


def check_empty_folder(folder: Path) -> None:
    """End the command if the folder to write cannot be created, or exists and is not empty."""
    with report_errors():
        existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        if not existing.is_dir() or not os.access(existing, os.W_OK):
            fail(f"{folder} cannot be created: {existing} is not a folder that can be written to", USAGE_ERROR)
        if folder == existing and any(folder.iterdir()):
            fail(f"{folder} exists and is not an empty folder", USAGE_ERROR)


@contextmanager
def report_errors() -> Iterator[None]:
    """Turn expected failures into one-line errors with an exit code; other exceptions keep their traceback."""
    try:
        yield
    except KeyboardInterrupt:
        ERR.print("stopped", style="dim")
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:
        if (code := _exit_code(error)) is None:
            raise
        unnamed = "the server did not respond in time" if isinstance(error, TimeoutError) else type(error).__name__
        hint = " Pass --token or set COMPANYOS_TOKEN." if str(error).startswith(_TOKEN_REQUIRED) else ""
        fail((_text(error) or unnamed) + hint, code)


def _text(error: Exception) -> str:
    """Return the text of an error; that of a file begins with its name instead of the number of the error."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _exit_code(error: Exception) -> int | None:
    """Return the exit code of an expected failure. Exception names are compared, to avoid slow imports."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, OSError) and error.filename is not None:
        return USAGE_ERROR
    if names & {
        "UnknownPolicyError",
        "EntryPointError",
        "RunMismatchError",
        "ResetRejectedError",
        "FileExistsError",
        "NotADirectoryError",
        "PermissionError",
    }:
        return USAGE_ERROR
    if "ApiError" in names and getattr(error, "problem", None) in _USAGE_PROBLEMS:
        return USAGE_ERROR
    if names & {"EnterpriseError", "ConnectionError", "ApiError", "HTTPError", "TimeoutError"}:
        return FAILED
    return None
