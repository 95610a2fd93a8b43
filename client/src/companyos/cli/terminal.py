"""The terminal: where results and troubles go, and how an expected failure becomes one clear line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

FILE_WIDTH = 120
"""Characters a line when nobody looks: a log is not narrower than a screen."""

OUT = Console(highlight=False)
if not OUT.is_terminal:
    OUT.width = max(OUT.width, FILE_WIDTH)
ERR = Console(stderr=True, highlight=False)

FAILED = 1
MISUSED = 2
INTERRUPTED = 130


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


def fail(message: str, code: int = FAILED) -> NoReturn:
    """End the command with one clear line (and what a server said last, below it)."""
    first, _, rest = message.partition("\n")
    ERR.print(f"[bold red]error:[/] {escape(first)}", soft_wrap=True)
    if rest:
        ERR.print(rest, style="dim", markup=False, soft_wrap=True)
    raise typer.Exit(code)


@contextmanager
def clear_errors() -> Iterator[None]:
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
        return MISUSED
    if names & {"UnknownPolicy", "ResetRefused", "FileExistsError", "NotADirectoryError", "PermissionError"}:
        return MISUSED
    if names & {"EnterpriseFailed", "ConnectionError", "ServerRefusal", "HTTPError", "TimeoutError"}:
        return FAILED
    return None
