"""Copies of databases in one SQLite session, for single queries and an interactive shell."""

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
from companyos.cli.terminal import ERR, OUT, USAGE_ERROR, data_table, fail, sanitize

SHELL = "sqlite3"
_READABLE_CHARS = 20
"""Minimum readable width of a column; longer text wraps."""

_LIST_TABLES_SQL = (
    "select name from {schema}.sqlite_master "
    "where type = 'table' and name not glob '[_]*' and name not glob 'sqlite*' order by name"
)
"""Query for the tables of a service; names with a leading underscore are internal tables of every service."""

_PROMPT, _CONTINUATION_PROMPT = "sql> ", "...> "
_HELP = "commands are .tables, .schema TABLE and .quit; everything else is SQL and ends with ;"


@dataclass(frozen=True)
class QueryResult:
    """Columns and rows of a query."""

    columns: list[str]
    rows: list[tuple[Any, ...]]


class DatabaseCopies:
    """Copies of databases by service, attached to one session under the services' names."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self.paths = dict(paths)
        self._session = sqlite3.connect("file::memory:", uri=True, isolation_level=None)
        for line in self.attach_statements():
            self._session.execute(line)
        read_only.restrict(self._session)

    def close(self) -> None:
        """Close the session; the files are kept."""
        self._session.close()

    def attach_statements(self) -> list[str]:
        """Return the statements that attach the copies read-only."""
        return [
            f"attach {_quote_text(f'{path.resolve().as_uri()}?mode=ro&immutable=1')} as {_quote_name(service)}"
            for service, path in self.paths.items()
        ]

    def run_query(self, query: str) -> QueryResult:
        """Return the result of a statement, `.tables` or `.schema TABLE`; end the command with an error if it fails."""
        try:
            return self.query_result(query)
        except (sqlite3.Error, sqlite3.Warning) as error:
            fail(str(error), USAGE_ERROR)

    def query_result(self, query: str) -> QueryResult:
        """Return the result of a statement, `.tables` or `.schema TABLE`. Raises sqlite3.Error."""
        match query.strip().rstrip(";").split():
            case [".tables"]:
                return QueryResult(["service", "table", "rows"], self._tables())
            case [".schema", table]:
                return QueryResult(["schema"], self._schema(table.rpartition(".")[2]))
            case [word, *_] if word.startswith("."):
                raise sqlite3.ProgrammingError(f"unknown command {word}; {_HELP}")
        columns, rows = read_only.run_query(self._session, query)
        return QueryResult(columns, [tuple(_printable(value) for value in row) for row in rows])

    def _tables(self) -> list[tuple[Any, ...]]:
        rows = []
        for service in self.paths:
            for (table,) in self._session.execute(_LIST_TABLES_SQL.format(schema=_quote_name(service))).fetchall():
                count = f"select count(*) from {_quote_name(service)}.{_quote_name(table)}"  # noqa: S608  # names, quoted as such
                rows.append((service, table, self._session.execute(count).fetchone()[0]))
        return rows

    def _schema(self, table: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        for service in self.paths:
            statement = f"select sql from {_quote_name(service)}.sqlite_master where name = ?"  # noqa: S608  # a name, quoted
            rows += self._session.execute(statement, (table,)).fetchall()
        return rows


def print_rows(query_result: QueryResult) -> None:
    """Print rows as a table; the number of rows goes to standard error."""
    if not query_result.columns:
        return
    if _is_wide(query_result):
        for number, row in enumerate(query_result.rows, start=1):
            _print_record(query_result.columns, row, number)
    else:
        OUT.print(_table(query_result))
    ERR.print(f"[dim]{len(query_result.rows)} {'row' if len(query_result.rows) == 1 else 'rows'}[/]")


def _table(query_result: QueryResult) -> Table:
    table = data_table()
    for index, column in enumerate(query_result.columns):
        values = [row[index] for row in query_result.rows if row[index] is not None]
        is_number = bool(values) and all(isinstance(value, int | float) for value in values)
        table.add_column(sanitize(column), overflow="fold", justify="right" if is_number else "left")
    for row in query_result.rows:
        table.add_row(*(_format_cell(value) for value in row))
    return table


def _print_record(columns: list[str], row: tuple[Any, ...], number: int) -> None:
    """Print a row that is too wide for a table, one line per column."""
    record = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
    record.add_column(style="dim", no_wrap=True)
    record.add_column(overflow="fold")
    for column, value in zip(columns, row, strict=True):
        record.add_row(sanitize(column), _format_cell(value))
    OUT.print(f"[bold]{number}[/]")
    OUT.print(Padding(record, (0, 0, 1, 2), expand=False))


def _is_wide(query_result: QueryResult) -> bool:
    """Return whether a table would make columns too narrow to read."""
    cells = zip(query_result.columns, *(map(str, row) for row in query_result.rows), strict=True)
    needed_width = sum(min(max(map(len, column)), _READABLE_CHARS) + 2 for column in cells)
    return needed_width > OUT.width


def _format_cell(value: Any) -> str:
    return "[dim]null[/]" if value is None else sanitize(str(value))


def open_shell(copies: DatabaseCopies) -> None:
    """Open an interactive shell on the copies."""
    program = shutil.which(SHELL)
    named = ", ".join(copies.paths)
    ERR.print(f"[dim]a copy of[/] {named}[dim]; .tables lists the tables, .quit exits[/]", soft_wrap=True)
    if program is None:
        _run_shell(copies)
        return
    attach_statements = [part for line in copies.attach_statements() for part in ("-cmd", line)]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the shell handles Ctrl-C while it runs
    try:
        subprocess.run(
            [program, "-header", "-column", *attach_statements, ":memory:"], check=False, preexec_fn=_restore_sigint
        )
    finally:
        signal.signal(signal.SIGINT, before)


def _restore_sigint() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _run_shell(copies: DatabaseCopies) -> None:
    """Run a minimal shell if sqlite3 is not installed."""
    lines: list[str] = []
    while True:
        try:
            lines.append(input(_CONTINUATION_PROMPT if lines else _PROMPT))
        except EOFError:
            return
        statement = "\n".join(lines).strip()
        if statement in (".quit", ".exit"):
            return
        if statement in (".help", ""):
            ERR.print(f"[dim]{_HELP}[/]")
        elif not (statement.startswith(".") or sqlite3.complete_statement(statement)):
            continue
        else:
            _print_answer(copies, statement)
        lines.clear()


def _print_answer(copies: DatabaseCopies, statement: str) -> None:
    try:
        print_rows(copies.query_result(statement))
    except (sqlite3.Error, sqlite3.Warning) as error:
        ERR.print(f"[bold red]error:[/] {sanitize(str(error))}", soft_wrap=True)


def _printable(value: Any) -> Any:
    """Return a printable value; bytes become SQL literals."""
    return f"x'{value.hex()}'" if isinstance(value, bytes) else value


def _quote_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _quote_name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
