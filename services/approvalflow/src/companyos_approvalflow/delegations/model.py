"""Delegations of authority between people, with a period, a scope and a limit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select

from companyos_approvalflow import tables


@dataclass(frozen=True, slots=True)
class Delegation:
    """Authority of `from_id` that `to_id` may use. Empty type keys mean all types; no limit means any amount."""

    id: str
    from_id: str
    to_id: str
    type_keys: tuple[str, ...]
    limit_cents: int | None
    starts_at: datetime
    ends_at: datetime
    revoked_at: datetime | None
    created_by: str


def _delegation(row: Row[Any]) -> Delegation:
    return Delegation(**{**row._mapping, "type_keys": tuple(row.type_keys)})


def read_delegation(db: Connection, delegation_id: str) -> Delegation | None:
    """Return the delegation with that id, or None."""
    row = db.execute(select(tables.delegations).where(tables.delegations.c.id == delegation_id)).one_or_none()
    return None if row is None else _delegation(row)


def read_delegations(db: Connection) -> list[Delegation]:
    """Return all delegations, including past and revoked ones, by id."""
    rows = db.execute(select(tables.delegations).order_by(tables.delegations.c.id))
    return [_delegation(row) for row in rows]
