"""Copies of databases in one SQLite session: asked once, or explored in a shell."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.padding import Padding
from rich.table import Table

from companyos.cli import read_only
from companyos.cli.terminal import ERR, MISUSED, OUT, data_table, fail, shown

SHELL = "sqlite3"
_READABLE_CHARS = 20
"""What a column needs at most to be read; longer text folds."""

_TABLES = (
    "select name from {schema}.sqlite_master "
    "where type = 'table' and name not glob '[_]*' and name not glob 'sqlite*' order by name"
)
"""Tables of the service's own; those that begin with an underscore are the bookkeeping of every service."""

_PROMPT, _MORE = "sql> ", "...> "
_HELP = ".tables lists the tables, .schema TABLE shows one, .quit ends; everything else is SQL and ends with ;"


@dataclass(frozen=True)
class Rows:
    """What a query answers."""

    columns: list[str]
    rows: list[tuple[Any, ...]]


class Copies:
    """Copies of databases by service, attached to one session under the services' names."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self.paths = dict(paths)
        self._session = sqlite3.connect("file::memory:", uri=True, isolation_level=None)
        for line in self.attaching():
            self._session.execute(line)
        read_only.restrict(self._session)

    def close(self) -> None:
        """End the session; the copies stay."""
        self._session.close()

    def attaching(self) -> list[str]:
        """Return the statements that attach the copies, read-only."""
        return [
            f"attach {_quoted(f'{path.resolve().as_uri()}?mode=ro&immutable=1')} as {_name(service)}"
            for service, path in self.paths.items()
        ]

    def ask(self, query: str) -> Rows:
        """Return the answer to a statement, or to `.tables` and `.schema TABLE`; ends the command where it has none."""
        try:
            return self.answer(query)
        except (sqlite3.Error, sqlite3.Warning) as error:
            fail(str(error), MISUSED)

    def answer(self, query: str) -> Rows:
        """Return the answer to a statement, or to `.tables` and `.schema TABLE`. Raises sqlite3.Error."""
        match query.strip().rstrip(";").split():
            case [".tables"]:
                return Rows(["service", "table", "rows"], self._tables())
            case [".schema", table]:
                return Rows(["schema"], self._schema(table.rpartition(".")[2]))
            case [word, *_] if word.startswith("."):
                raise sqlite3.ProgrammingError(f"{word} is not known here; {_HELP}")
        columns, rows = read_only.ask(self._session, query)
        return Rows(columns, [tuple(_readable(value) for value in row) for row in rows])

    def _tables(self) -> list[tuple[Any, ...]]:
        found = []
        for service in self.paths:
            for (table,) in self._session.execute(_TABLES.format(schema=_name(service))).fetchall():
                count = f"select count(*) from {_name(service)}.{_name(table)}"  # noqa: S608  # names, quoted as such
                found.append((service, table, self._session.execute(count).fetchone()[0]))
        return found

    def _schema(self, table: str) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        for service in self.paths:
            asked = f"select sql from {_name(service)}.sqlite_master where name = ?"  # noqa: S608  # a name, quoted
            found += self._session.execute(asked, (table,)).fetchall()
        return found


def print_rows(answer: Rows) -> None:
    """Print rows as a table; how many there are is told beside the answer."""
    if not answer.columns:
        return
    if _is_wide(answer):
        for number, row in enumerate(answer.rows, start=1):
            _print_record(answer.columns, row, number)
    else:
        OUT.print(_table(answer))
    ERR.print(f"[dim]{len(answer.rows)} {'row' if len(answer.rows) == 1 else 'rows'}[/]")


def _table(answer: Rows) -> Table:
    table = data_table()
    for place, column in enumerate(answer.columns):
        values = [row[place] for row in answer.rows if row[place] is not None]
        is_number = bool(values) and all(isinstance(value, int | float) for value in values)
        table.add_column(shown(column), overflow="fold", justify="right" if is_number else "left")
    for row in answer.rows:
        table.add_row(*(_cell(value) for value in row))
    return table


def _print_record(columns: list[str], row: tuple[Any, ...], number: int) -> None:
    """Print a row that is too wide for a table, a line for each column."""
    record = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
    record.add_column(style="dim", no_wrap=True)
    record.add_column(overflow="fold")
    for column, value in zip(columns, row, strict=True):
        record.add_row(shown(column), _cell(value))
    OUT.print(f"[bold]{number}[/]")
    OUT.print(Padding(record, (0, 0, 1, 2), expand=False))


def _is_wide(answer: Rows) -> bool:
    """Say whether a table would squeeze its columns to less than can be read."""
    cells = zip(answer.columns, *(map(str, row) for row in answer.rows), strict=True)
    wanted = sum(min(max(map(len, column)), _READABLE_CHARS) + 2 for column in cells)
    return wanted > OUT.width


def _cell(value: Any) -> str:
    return "[dim]null[/]" if value is None else shown(str(value))


def explore(copies: Copies) -> None:
    """Open a shell on the copies until the user leaves it."""
    program = shutil.which(SHELL)
    named = ", ".join(copies.paths)
    ERR.print(f"[dim]a copy of[/] {named}[dim]; .tables lists the tables, .quit leaves[/]", soft_wrap=True)
    if program is None:
        _loop(copies)
        return
    attaching = [part for line in copies.attaching() for part in ("-cmd", line)]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the shell's while it runs
    try:
        subprocess.run([program, "-header", "-column", *attaching, ":memory:"], check=False, preexec_fn=_heed)
    finally:
        signal.signal(signal.SIGINT, before)


def _heed() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _loop(copies: Copies) -> None:
    """Read statements and print their answers, where no sqlite3 is installed."""
    lines: list[str] = []
    while True:
        try:
            lines.append(input(_MORE if lines else _PROMPT))
        except EOFError:
            return
        asked = "\n".join(lines).strip()
        if asked in (".quit", ".exit"):
            return
        if asked in (".help", ""):
            ERR.print(f"[dim]{_HELP}[/]")
        elif not (asked.startswith(".") or sqlite3.complete_statement(asked)):
            continue
        else:
            _print_answer(copies, asked)
        lines.clear()


def _print_answer(copies: Copies, asked: str) -> None:
    try:
        print_rows(copies.answer(asked))
    except (sqlite3.Error, sqlite3.Warning) as error:
        ERR.print(f"[bold red]error:[/] {shown(str(error))}", soft_wrap=True)


def _readable(value: Any) -> Any:
    """Return a value as it can be printed: bytes as SQL writes them."""
    return f"x'{value.hex()}'" if isinstance(value, bytes) else value


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
