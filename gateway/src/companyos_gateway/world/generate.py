"""Generates a company: people, then vendors, records, metrics, policies, tickets and approvals."""

from __future__ import annotations

from companyos_gateway.services import service_rules, write_seed
from companyos_gateway.world.approvals import draw_approvals, number_delegations
from companyos_gateway.world.backlog import draw_backlog, number_rows
from companyos_gateway.world.builder import BaseCompany, WorldBuilder
from companyos_gateway.world.calendar import draw_start_time, holidays_around
from companyos_gateway.world.ids import IdGenerator
from companyos_gateway.world.metrics import draw_metrics, draw_sources, number_values
from companyos_gateway.world.people import (
    VENDOR_OPERATIONS,
    Staff,
    domain_of,
    draw_absences,
    draw_company_name,
    draw_staff,
)
from companyos_gateway.world.policies import draw_policies
from companyos_gateway.world.pools import pool
from companyos_gateway.world.records import draw_records
from companyos_gateway.world.splits import words_for_split
from companyos_gateway.world.vendors import draw_vendors
from companyos_shared.streams import Stream


def generate_world(stream: Stream, base: BaseCompany | None = None) -> WorldBuilder:
    """Draw a company from a stream; with a base, draw the part of a larger company that has the task.

    Scenarios then add their rows and call `finish_world` before the world is serialized.
    """
    world = _create_builder(stream, base)
    draw_vendors(world, stream.child("vendors"))
    draw_sources(world, stream.child("sources"))
    draw_metrics(world, stream.child("metrics"))
    draw_records(world, stream.child("records"))
    draw_policies(world, stream.child("policies"))
    draw_approvals(world, stream.child("approvals"))
    draw_backlog(world, stream.child("backlog"))
    for service in service_rules():
        world.service_documents[service] = write_seed(service, world, stream.child("service", service))
    return world


def finish_world(world: WorldBuilder) -> None:
    """Number the rows that services number by time. Call it once all rows have been added."""
    number_rows(world)
    number_values(world)
    number_delegations(world)


def _create_builder(stream: Stream, base: BaseCompany | None) -> WorldBuilder:
    own = stream.child("company")
    company_name, started_at = draw_company_name(own), draw_start_time(own)
    if base is not None:
        company_name, started_at = base.company_name, base.started_at
    domain, taken_names = domain_of(company_name), frozenset() if base is None else base.names
    ids = IdGenerator(stream.child("ids"), {} if base is None else base.ids)
    staff = draw_staff(stream.child("staff"), ids, today=started_at.date(), domain=domain, taken_names=taken_names)
    return WorldBuilder(
        base=base,
        taken_names=taken_names,
        started_at=started_at,
        company_name=company_name,
        domain=domain,
        agent_id=_pick_agent(own, staff),
        ids=ids,
        staff=staff,
        absences=draw_absences(stream.child("absences"), ids, staff),
        holidays=holidays_around(started_at.date()),
        vendor_words=own.shuffled(words_for_split(stream, "vendor_word", pool("vendors")["word"])),
    )


def _pick_agent(stream: Stream, staff: Staff) -> str:
    """Draw the person whom the agent acts as: a member of Vendor Operations without a role."""
    return stream.choice([one for one in staff.active(VENDOR_OPERATIONS) if not one.roles]).id
