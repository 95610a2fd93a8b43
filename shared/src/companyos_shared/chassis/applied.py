"""Stored responses for exactly-once execution: of an epoch's latest operation, and by idempotency key."""

from __future__ import annotations

import json

from sqlalchemy import Connection

from companyos_shared.chassis.answers import HeldAnswer
from companyos_shared.chassis.call import Call
from companyos_shared.chassis.driver import driver_of
from companyos_shared.chassis.errors import OpReused
from companyos_shared.wire.control import Report

_STORE = (
    "INSERT OR REPLACE INTO _applied (id, step, request, status, headers, body, report) VALUES (1, ?, ?, ?, ?, ?, ?)"
)
_STORED = "SELECT request, status, headers, body, report FROM _applied"
_STORE_KEY = "INSERT INTO _idempotency (key, request, status, media_type, body) VALUES (?, ?, ?, ?, ?)"


def store_op(db: Connection, *, step: int, request: str, answer: HeldAnswer) -> None:
    """Store the operation's response and report in its transaction, in place of the previous operation's."""
    headers = json.dumps([list(header) for header in answer.headers])
    stored = (step, request, answer.status, headers, answer.body.decode(), answer.report.decode())
    driver_of(db).execute(_STORE, stored)


def stored_op(db: Connection, request: str) -> tuple[HeldAnswer, Report]:
    """Return the latest operation's response and report; raises OpReused (422) if the request differs."""
    applied, status, headers, body, stored = driver_of(db).execute(_STORED).fetchone()
    if applied != request:
        raise OpReused
    report = Report.model_validate_json(stored).model_copy(update={"replayed": True})
    answer = HeldAnswer(status, [(name, value) for name, value in json.loads(headers)], body.encode())
    answer.attach(report)
    return answer, report


def store_idempotent(call: Call, answer: HeldAnswer) -> None:
    """Store the response under the call's idempotency key, if the key is new."""
    if call.idempotency is None:
        return
    key, request = call.idempotency
    driver_of(call.db).execute(_STORE_KEY, (key, request, answer.status, answer.media_type, answer.body.decode()))
