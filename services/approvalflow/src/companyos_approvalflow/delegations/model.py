"""A delegation as the rules see it: one person's authority in another's hands, for a period, a scope and a limit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select

from companyos_approvalflow import tables


@dataclass(frozen=True, slots=True)
class Delegation:
    """Authority of `from_id` in the hands of `to_id`; no type keys mean every type, no limit means any amount."""

    id: str
    from_id: str
    to_id: str
    type_keys: tuple[str, ...]
    limit_cents: int | None
    starts_at: datetime
    ends_at: datetime
    revoked_at: datetime | None
    created_by: str


def delegation_of_row(row: Row[Any]) -> Delegation:
    """Return the delegation that a row holds."""
    return Delegation(**{**row._mapping, "type_keys": tuple(row.type_keys)})


def read_delegation(db: Connection, delegation_id: str) -> Delegation | None:
    """Return the delegation of that id."""
    found = select(tables.delegations).where(tables.delegations.c.id == delegation_id)
    row = db.execute(found).one_or_none()
    return None if row is None else delegation_of_row(row)


def read_delegations(db: Connection) -> list[Delegation]:
    """Return every delegation, past and revoked ones included, by id."""
    rows = db.execute(select(tables.delegations).order_by(tables.delegations.c.id))
    return [delegation_of_row(row) for row in rows]
