"""Restricts a SQLite session to queries that only read, with a deadline and a limit on rows."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import Any

QUERY_DEADLINE_S = 10.0
MAX_ROWS = 10_000
MAX_VALUE_BYTES = 16 * 1024 * 1024
"""Maximum length of a text or blob that a query may create, in bytes."""

_OPERATIONS_PER_CHECK = 10_000
_ACTIONS = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})
_PRAGMAS = frozenset({"table_info", "table_xinfo", "table_list", "index_list", "index_info", "foreign_key_list"})
"""Pragmas that describe tables; none of them has a form that writes."""

_INNOCUOUS = 0x200000
"""SQLITE_INNOCUOUS: a function with no side effects, whose result depends on its arguments alone."""


def restrict(session: sqlite3.Connection) -> None:
    """Allow only reads: SELECT, columns, safe functions, recursion, and pragmas that describe tables."""
    session.execute("pragma trusted_schema = off")
    functions = _safe_functions(session)
    for table in ("json_each", "json_tree", *(f"pragma_{name}" for name in _PRAGMAS)):
        # SQLite declares a virtual table when it is first used, which the authorizer would deny.
        session.execute(f"select 1 from {table} limit 0")  # noqa: S608  # names from above
    session.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
    session.set_authorizer(_authorizer(functions))


def run_query(session: sqlite3.Connection, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the columns and rows of a query.

    Raises sqlite3.Error, also for a query that takes longer than QUERY_DEADLINE_S or has more than MAX_ROWS rows.
    """
    deadline = time.monotonic() + QUERY_DEADLINE_S
    session.set_progress_handler(lambda: time.monotonic() > deadline, _OPERATIONS_PER_CHECK)
    try:
        cursor = session.execute(query)
        rows = cursor.fetchmany(MAX_ROWS + 1)
        cursor.close()
    except sqlite3.OperationalError as error:
        if time.monotonic() > deadline:
            raise sqlite3.OperationalError(f"the query took longer than {QUERY_DEADLINE_S:g} s") from error
        raise
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_AUTH:
            raise sqlite3.DatabaseError("only statements that read are accepted") from error
        raise
    finally:
        session.set_progress_handler(None, 0)
    if len(rows) > MAX_ROWS:
        raise sqlite3.OperationalError(f"the query has more than {MAX_ROWS} rows")
    return [column[0] for column in cursor.description or ()], rows


def _safe_functions(session: sqlite3.Connection) -> frozenset[str]:
    flags: dict[str, int] = {}
    for name, flag in session.execute("select name, flags from pragma_function_list"):
        flags[name] = flags.get(name, _INNOCUOUS) & flag
    # SQLite 3.40 does not mark its JSON functions, which have no side effects either.
    return frozenset(name for name, flag in flags.items() if flag & _INNOCUOUS or name.startswith(("json", "->")))


def _authorizer(functions: frozenset[str]) -> Callable[..., int]:
    def authorize(action: int, first: str | None, second: str | None, _schema: str | None, _cause: str | None) -> int:
        if action == sqlite3.SQLITE_FUNCTION:
            allowed = (second or "").lower() in functions
        elif action == sqlite3.SQLITE_PRAGMA:
            allowed = (first or "").lower() in _PRAGMAS
        else:
            allowed = action in _ACTIONS
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    return authorize
