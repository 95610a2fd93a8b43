"""Scheduled requests, notes and delegations of colleagues, planned by the seed."""

from __future__ import annotations

from typing import Any

from companyos_approvalflow import tables
from companyos_approvalflow.decisions.service import schedule_decision, schedule_expiry
from companyos_approvalflow.requests.model import Request, insert_request, read_open_request, read_request
from companyos_approvalflow.seed_rows import DelegationSeed, NoteSeed, RequestSeed, ScheduledEventKind
from companyos_shared.framework import Call

COLLEAGUE = "colleague"


def apply_colleague(call: Call, payload: dict[str, Any]) -> None:
    """Insert a planned request, note or delegation of a colleague."""
    kind, data = ScheduledEventKind(payload["kind"]), payload["data"]
    if kind is ScheduledEventKind.REQUEST:
        _submit(call, Request(**RequestSeed.model_validate(data).model_dump()))
    elif kind is ScheduledEventKind.NOTE:
        _write(call, NoteSeed.model_validate(data))
    else:
        call.db.execute(tables.delegations.insert(), DelegationSeed.model_validate(data).model_dump())


def _submit(call: Call, request: Request) -> None:
    """Submit the request unless one of its type is open on the subject."""
    if read_open_request(call.db, request.type_key, request.subject) is not None:
        return
    insert_request(call.db, request)
    schedule_decision(call, request)
    schedule_expiry(call, request)


def _write(call: Call, note: NoteSeed) -> None:
    if read_request(call.db, note.request_id) is not None:
        call.db.execute(tables.notes.insert(), note.model_dump())
