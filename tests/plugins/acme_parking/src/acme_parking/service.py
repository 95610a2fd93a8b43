"""The service: permits are requested, issued, and revoked for good."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict
from sqlalchemy import Column, MetaData, Table, Text, insert, select, update

from companyos_shared.framework import (
    Call,
    CallDep,
    Page,
    PageQuery,
    ResponseModel,
    SeedDocument,
    Service,
    ServiceError,
    create_app,
    error_responses,
    paginate,
)
from companyos_shared.wire.company import Company, Person, Team

Status = Literal["requested", "issued", "revoked"]

metadata = MetaData()
permits = Table(
    "permits",
    metadata,
    Column("id", Text, primary_key=True),
    Column("person_id", Text, nullable=False),
    Column("status", Text, nullable=False),
)


class PermitNotFoundError(ServiceError):
    """No permit has this id."""

    status, code, title = 404, "permit-not-found", "Permit not found"


class PermitRevokedError(ServiceError):
    """A revoked permit cannot be issued."""

    status, code, title = 409, "permit-revoked", "The permit is revoked"


class SeedPermit(BaseModel):
    """A permit in the seed document."""

    model_config = ConfigDict(extra="forbid")

    id: str
    person_id: str
    status: Status


class Seed(SeedDocument):
    """Seed document of the service."""

    permits: tuple[SeedPermit, ...] = ()


class Permit(ResponseModel):
    """A parking permit."""

    id: str
    person_id: str
    status: Status


router = APIRouter(tags=["permits"])


@router.get("/permits", operation_id="list_permits")
async def list_permits(call: CallDep, page: PageQuery) -> Page[Permit]:
    """List parking permits."""
    return paginate(call, select(permits), page, order_by=[permits.c.id], build=Permit.model_validate)


@router.post(
    "/permits/{permit_id}/issue",
    operation_id="issue_permit",
    responses=error_responses(PermitNotFoundError, PermitRevokedError),
)
async def issue_permit(permit_id: str, call: CallDep) -> Permit:
    """Issue a requested permit."""
    if _permit(call, permit_id).status == "revoked":
        raise PermitRevokedError(f"Permit {permit_id} is revoked.")
    return _set_status(call, permit_id, "issued")


@router.post(
    "/permits/{permit_id}/suspend", operation_id="suspend_permit", responses=error_responses(PermitNotFoundError)
)
async def suspend_permit(permit_id: str, call: CallDep) -> Permit:
    """Return an issued permit to the status `requested`."""
    return _set_status(call, permit_id, "requested")


@router.post(
    "/permits/{permit_id}/revoke", operation_id="revoke_permit", responses=error_responses(PermitNotFoundError)
)
async def revoke_permit(permit_id: str, call: CallDep) -> Permit:
    """Revoke a permit permanently."""
    return _set_status(call, permit_id, "revoked")


def _permit(call: Call, permit_id: str) -> Permit:
    row = call.db.execute(select(permits).where(permits.c.id == permit_id)).one_or_none()
    if row is None:
        raise PermitNotFoundError(f"No permit has the id {permit_id!r}.")
    return Permit.model_validate(row._asdict())


def _set_status(call: Call, permit_id: str, status: Status) -> Permit:
    _permit(call, permit_id)
    call.db.execute(update(permits).where(permits.c.id == permit_id).values(status=status))
    return _permit(call, permit_id)


def load_seed(call: Call, seed: Seed) -> None:
    """Insert the permits of a seed document."""
    for permit in seed.permits:
        call.db.execute(insert(permits), permit.model_dump())


def demo_seed() -> Seed:
    """Return the seed of the service without a gateway."""
    person = Person(
        id="P-1", name="Ada", email="ada@acme.example", title="Clerk", team_id="T-1", employed_from=date(2020, 1, 1)
    )
    team = Team(id="T-1", name="Office", department="Office", lead_id="P-1")
    company = Company(name="Acme", domain="acme.example", agent_id="P-1", people=(person,), teams=(team,))
    permit = SeedPermit(id="PRM-1", person_id="P-1", status="requested")
    return Seed(company=company, draw_seed="demo", started_at=datetime(2026, 3, 2, 9, 0, tzinfo=UTC), permits=(permit,))


SERVICE = Service(
    name="parking",
    title="Parking",
    description="Parking permits of the company.",
    version="1.0.0",
    metadata=metadata,
    seed=Seed,
    load_seed=load_seed,
    demo_seed=demo_seed,
    routers=[router],
)
app = create_app(SERVICE)
