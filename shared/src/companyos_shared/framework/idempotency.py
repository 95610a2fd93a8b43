"""Stored responses for exactly-once execution, for the latest operation of an epoch and by idempotency key."""

from __future__ import annotations

import json

from sqlalchemy import Connection

from companyos_shared.framework.buffered_responses import BufferedResponse
from companyos_shared.framework.call import Call
from companyos_shared.framework.errors import StepReusedError
from companyos_shared.framework.storage import sqlite_connection
from companyos_shared.wire.control import Report

_INSERT_STEP_RESPONSE = (
    "INSERT OR REPLACE INTO _applied (id, step, request, status, headers, body, report) VALUES (1, ?, ?, ?, ?, ?, ?)"
)
_SELECT_STEP_RESPONSE = "SELECT request, status, headers, body, report FROM _applied"
_INSERT_IDEMPOTENT_RESPONSE = "INSERT INTO _idempotency (key, request, status, media_type, body) VALUES (?, ?, ?, ?, ?)"


def store_step_response(db: Connection, *, step: int, request: str, response: BufferedResponse) -> None:
    """Store the operation's response and report in its transaction, replacing those of the previous operation."""
    headers = json.dumps([list(header) for header in response.headers])
    stored_report = (step, request, response.status, headers, response.body.decode(), response.report.decode())
    sqlite_connection(db).execute(_INSERT_STEP_RESPONSE, stored_report)


def load_step_response(db: Connection, request: str) -> tuple[BufferedResponse, Report]:
    """Return the latest operation's response and report; raises StepReusedError (422) if the request differs."""
    stored_request, status, headers, body, stored_report = (
        sqlite_connection(db).execute(_SELECT_STEP_RESPONSE).fetchone()
    )
    if stored_request != request:
        raise StepReusedError
    report = Report.model_validate_json(stored_report).model_copy(update={"replayed": True})
    response = BufferedResponse(status, [(name, value) for name, value in json.loads(headers)], body.encode())
    response.attach(report)
    return response, report


def store_idempotent_response(call: Call, response: BufferedResponse) -> None:
    """Store the response under the call's idempotency key, if the key is new."""
    if call.idempotency is None:
        return
    key, request = call.idempotency
    sqlite_connection(call.db).execute(
        _INSERT_IDEMPOTENT_RESPONSE, (key, request, response.status, response.media_type, response.body.decode())
    )
