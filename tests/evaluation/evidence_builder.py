"""Builders of evidence, people, tickets, requests and delegations with defaults."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from companyos_gateway.evaluation import Evidence
from companyos_shared.wire.company import Person, Role, RoleHeld
from companyos_shared.wire.context import Actor
from companyos_shared.wire.control import AuditLine, Change, Report, Row, Rows

NOW = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)
SINCE = date(2020, 1, 1)


class EvidenceBuilder:
    """Builds evidence step by step from changes of rows by the agent and the clock."""

    def __init__(self, **initial: Rows) -> None:
        self.evidence = Evidence(initial)
        self._seq = 0

    def put(self, service: str, table: str, key: str, **columns: Any) -> Change:
        """Add a row or change columns of one, as the agent."""
        return self._write(service, table, key, columns, actor=Actor.AGENT, cause="e:1:1")

    def put_together(self, service: str, rows: Mapping[tuple[str, str], Row]) -> None:
        """Write several rows, by table and key, with one call of the agent."""
        step = self._seq + 1
        for (table, key), row in rows.items():
            self._write(service, table, key, row, actor=Actor.AGENT, cause="e:1:1", step=step)

    def drop(self, service: str, table: str, key: str) -> Change:
        """Delete a row, as the agent."""
        return self._write(service, table, key, None, actor=Actor.AGENT, cause="e:1:1")

    def put_by_clock(self, service: str, table: str, key: str, *, cause: str | None = None, **columns: Any) -> Change:
        """Add a row or change columns of one, as the clock; without a cause, no call of the agent led to it."""
        return self._write(service, table, key, columns, actor=Actor.CLOCK, cause=cause)

    def _write(
        self,
        service: str,
        table: str,
        key: str,
        columns: Row | None,
        *,
        actor: Actor,
        cause: str | None,
        step: int | None = None,
    ) -> Change:
        self._seq += 1
        before = self.evidence.row(service, table, key)
        change = Change(
            seq=self._seq,
            step=step or self._seq,
            at=NOW + timedelta(minutes=self._seq),
            actor=actor,
            cause=cause,
            table=table,
            key=key,
            before=before,
            after=None if columns is None else {**(before or {}), **columns},
        )
        self.evidence.record(service, Report(changes=[change]))
        return change


def audit(step: int, **fields: Any) -> AuditLine:
    """Return the audit line of a call of the agent."""
    usual = {"at": NOW, "actor": Actor.AGENT, "operation": "get_note", "arguments": {}, "status": 200}
    return AuditLine.model_validate({"step": step, **usual, **fields})


def a_person(person_id: str, *roles: Role, **fields: Any) -> Person:
    held = tuple(RoleHeld(role=role, first_day=SINCE) for role in roles)
    named = {"name": person_id, "email": f"{person_id}@x.example", "title": "", "team_id": "finance"}
    return Person.model_validate({"id": person_id, **named, "employed_from": SINCE, "roles": held, **fields})


def a_ticket(key: str, **columns: Any) -> dict[str, Any]:
    """Return a row of a ticket, whose other columns are empty."""
    names = ("status", "priority", "assignee_id", "verified_at", "verified_by", "approval_ref")
    return {"key": key, **dict.fromkeys((*names, "reason_code", "reason_ref")), **columns}


def a_request(key: str, **columns: Any) -> dict[str, Any]:
    """Return a row of a pending request."""
    return {
        "id": key,
        "ticket_ref": None,
        "requester_id": "agent",
        "status": "pending",
        "fields": {},
        "submitted_at": NOW.isoformat(),
        "reason_code": None,
        "reason_ref": None,
        **columns,
    }


def a_delegation(**columns: Any) -> dict[str, Any]:
    """Return a row of the delegation from the CFO to Ann, which is in force."""
    row: dict[str, Any] = {
        "from_id": "cfo",
        "to_id": "ann",
        "type_keys": [],
        "limit_cents": None,
        "starts_at": "2026-03-01T00:00:00Z",
        "ends_at": "2026-05-01T00:00:00Z",
        "revoked_at": None,
    }
    return row | columns
