"""Delegations of authority between people, with a period, a scope and a limit."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field
from sqlalchemy import Connection, select

from companyos_approvalflow import tables
from companyos_shared.framework import ResponseModel, example


class Delegation(ResponseModel):
    """A delegation of authority."""

    model_config = example(
        id="DEL-7",
        from_id="E-101",
        to_id="E-104",
        type_keys=["vendor_onboarding"],
        limit_cents=500000,
        starts_at="2026-03-02T09:00:00Z",
        ends_at="2026-03-13T17:00:00Z",
        revoked_at=None,
        created_by="E-101",
    )

    id: str
    from_id: str = Field(description="Person whose authority is delegated.")
    to_id: str = Field(description="Delegate.")
    type_keys: list[str] = Field(description="Covered approval types; empty: all types.")
    limit_cents: int | None = Field(description="Maximum amount covered, inclusive; null: no limit.")
    starts_at: datetime = Field(description="Start, inclusive.")
    ends_at: datetime = Field(description="End, exclusive.")
    revoked_at: datetime | None = Field(description="A revoked delegation covers nothing from this time on.")
    created_by: str


def read_delegation(db: Connection, delegation_id: str) -> Delegation | None:
    """Return the delegation with that id, or None."""
    row = db.execute(select(tables.delegations).where(tables.delegations.c.id == delegation_id)).one_or_none()
    return None if row is None else Delegation.model_validate(row)


def read_delegations(db: Connection) -> list[Delegation]:
    """Return all delegations, including past and revoked ones, by id."""
    rows = db.execute(select(tables.delegations).order_by(tables.delegations.c.id))
    return [Delegation.model_validate(row) for row in rows]
