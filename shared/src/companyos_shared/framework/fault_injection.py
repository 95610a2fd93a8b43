"""Injected transport faults: maps a fault of the signed context to an error response that looks like an outage."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fastapi.responses import Response
from sqlalchemy import Connection, MetaData, Table

from companyos_shared.framework.errors import (
    AuthorizationUnavailableError,
    GatewayTimeoutError,
    ServiceError,
    ServiceUnavailableError,
    TooManyRequestsError,
)
from companyos_shared.framework.storage import begin, rollback, sqlite_connection
from companyos_shared.wire.context import Actor, Fault, FaultKind

_TIMEOUT = GatewayTimeoutError("The service did not respond in time. A write may or may not have been carried out.")
_ERRORS: dict[FaultKind, ServiceError] = {
    FaultKind.UNAVAILABLE: ServiceUnavailableError(
        "The service is unavailable at the moment. The call was not carried out."
    ),
    FaultKind.RATE_LIMITED: TooManyRequestsError("The limit for reads has been reached. The call was not carried out."),
    FaultKind.TIMEOUT_BEFORE_COMMIT: _TIMEOUT,
    FaultKind.TIMEOUT_AFTER_COMMIT: _TIMEOUT,
    FaultKind.FORBIDDEN: AuthorizationUnavailableError(
        "Permissions cannot be checked at the moment. The call was not carried out."
    ),
}
"""The error that the caller receives, by fault. Both timeouts look the same."""


def is_outage(fault: Fault) -> bool:
    """Return whether the caller receives an error. A stale read returns old data instead."""
    return fault.kind is not FaultKind.STALE_READ


def prevents_execution(fault: Fault) -> bool:
    """Return whether the fault prevents the operation from running."""
    return fault.kind is not FaultKind.TIMEOUT_AFTER_COMMIT and is_outage(fault)


def fault_response(fault: Fault) -> Response:
    """Return the response that replaces the operation's response."""
    headers = {} if fault.retry_after_s is None else {"Retry-After": str(fault.retry_after_s)}
    return _ERRORS[fault.kind].response(headers)


_SELECT_FIRST_IMAGES = """
SELECT seq, tbl, key, before FROM _changes WHERE seq IN (
    SELECT MIN(seq) FROM _changes
    WHERE seq >= (SELECT MIN(seq) FROM _changes WHERE step = ? AND actor = ?) GROUP BY tbl, key
) ORDER BY seq DESC
"""
_DELETE_CHANGES = "DELETE FROM _changes WHERE seq >= ?"


@contextmanager
def hide_from_step(db: Connection, metadata: MetaData, step: int) -> Iterator[None]:
    """Revert all changes since the agent's step, and their records, inside the block; then roll back."""
    driver = sqlite_connection(db)
    images = driver.execute(_SELECT_FIRST_IMAGES, (step, Actor.AGENT.value)).fetchall()
    begin(db)
    try:
        driver.execute("PRAGMA defer_foreign_keys = ON")
        for _, table, key, before in images:
            _restore_row(db, metadata.tables[table], key, None if before is None else json.loads(before))
        if images:
            driver.execute(_DELETE_CHANGES, (min(seq for seq, *_ in images),))
        yield
    finally:
        rollback(db)


def _restore_row(db: Connection, table: Table, key: str, row: Mapping[str, Any] | None) -> None:
    """Restore a row to its earlier values; delete it if `row` is None."""
    name, key_column = f'"{table.name}"', f'"{next(iter(table.primary_key.columns)).name}"'
    driver = sqlite_connection(db)
    if row is None:
        driver.execute(f"DELETE FROM {name} WHERE {key_column} = ?", (key,))  # noqa: S608
        return
    values = [json.dumps(value) if isinstance(value, dict | list) else value for value in row.values()]
    columns = [f'"{column}"' for column in row]
    assigned = ", ".join(f"{column} = ?" for column in columns)
    changed = driver.execute(f"UPDATE {name} SET {assigned} WHERE {key_column} = ?", (*values, key))  # noqa: S608
    if not changed.rowcount:
        places = ", ".join("?" * len(columns))
        driver.execute(f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({places})", values)  # noqa: S608
