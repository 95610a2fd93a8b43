"""Exactly once: the latest op of an epoch with its answer, and the answers under idempotency keys."""

from __future__ import annotations

import json

from sqlalchemy import Connection, insert, select

from companyos_shared.chassis import tables
from companyos_shared.chassis.answers import HeldAnswer
from companyos_shared.chassis.call import Call
from companyos_shared.chassis.errors import OpReused
from companyos_shared.wire.control import Report

_STORE = (
    "INSERT OR REPLACE INTO _applied (id, step, request, status, headers, body, report) VALUES (1, ?, ?, ?, ?, ?, ?)"
)


def store_op(db: Connection, *, step: int, request: str, answer: HeldAnswer, report: Report) -> None:
    """Keep the op's answer and report, in the transaction of its effect; only the latest op is kept."""
    headers = json.dumps([list(header) for header in answer.headers])
    db.exec_driver_sql(_STORE, (step, request, answer.status, headers, answer.body.decode(), report.model_dump_json()))


def stored_op(db: Connection, request: str) -> tuple[HeldAnswer, Report]:
    """Return the latest op's answer and report; raises OpReused (422) when the request was another one."""
    row = db.execute(select(tables.applied)).one()
    if row.request != request:
        raise OpReused
    report = Report.model_validate_json(row.report).model_copy(update={"replayed": True})
    return HeldAnswer(row.status, [(name, value) for name, value in row.headers], row.body.encode()), report


def store_idempotent(call: Call, answer: HeldAnswer) -> None:
    """Keep the answer under the call's idempotency key, if it has one that is new."""
    if call.idempotency is None:
        return
    key, request = call.idempotency
    values = {"key": key, "request": request, "status": answer.status}
    call.db.execute(
        insert(tables.idempotency).values(**values, media_type=answer.media_type, body=answer.body.decode())
    )
