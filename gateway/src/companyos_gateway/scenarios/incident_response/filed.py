"""What is filed about services: who is on call, what depends on what, and when nobody has to worry."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from companyos_gateway.scenarios.incident_response.case import Ground
from companyos_gateway.scenarios.incident_response.outage import Outage
from companyos_gateway.scenarios.incident_response.reports import TEAM
from companyos_gateway.scenarios.parts.deciders import members
from companyos_gateway.scenarios.parts.entry import able_assignees
from companyos_gateway.world.calendar import office_moment, working_days_from
from companyos_gateway.world.documents.datahub import RecordRow
from companyos_gateway.world.draft import World
from companyos_shared.streams import Stream

WEEK = timedelta(days=7)
HAS_LEFT = 0.4
"""How often a rota names somebody first who has left, where the team has lost somebody."""


def add_runbooks(world: World, stream: Stream, outage: Outage) -> None:
    """File the runbooks of the services, which name what each depends on."""
    names = [outage.service, outage.below, *outage.others]
    depends = {outage.service: outage.below, outage.below: outage.others[2], outage.others[0]: outage.others[1]}
    for name in stream.shuffled(names):
        fields = {"document_type": "runbook", "service": name, "depends_on": depends.get(name, "nothing")}
        _file(world, stream, f"Runbook: {name}", fields)


def add_rota(world: World, stream: Stream) -> dict[date, tuple[str, str]]:
    """File who is on call first and second in each week around the start; return it by the Monday of the week."""
    monday = world.today - timedelta(days=world.today.weekday())
    rota = {monday + number * WEEK: _pair(world, stream) for number in range(-2, 3)}
    for first_day, (first, second) in rota.items():
        fields = {"document_type": "rota", "first": first, "second": second}
        record = _file(world, stream, f"On-call rota of Platform Engineering, week of {first_day}", fields)
        record.starts_on, record.ends_on = first_day, first_day + WEEK - timedelta(days=1)
    return rota


def keep_on_call(world: World, rota: dict[date, tuple[str, str]]) -> None:
    """Let whoever is on call second be at work."""
    for _, second in rota.values():
        world.keep_in_office(second)


def on_call(world: World, rota: dict[date, tuple[str, str]], reported_on: date, due_on: date) -> str:
    """Return who is on call for what was reported on a day and is due on another."""
    first, second = rota[reported_on - timedelta(days=reported_on.weekday())]
    return first if first in able_assignees(world, TEAM, due_on) else second


def add_notice(world: World, stream: Stream, outage: Outage) -> str:
    """File a notice of maintenance: of the service and now where that is the ground, else of another or long ago."""
    is_now = outage.ground is Ground.MAINTENANCE
    is_other = not is_now and stream.chance(0.5)
    service = outage.others[0] if is_other else outage.service
    first_day = world.today - timedelta(days=stream.integer(6, 9))
    if not is_now and not is_other:
        first_day -= timedelta(days=stream.integer(30, 60))
    fields = {"document_type": "maintenance_notice", "service": service}
    record = _file(world, stream, f"Maintenance notice: {service}", fields)
    record.starts_on, record.ends_on = first_day, first_day + timedelta(days=stream.integer(14, 20))
    return record.id


def _pair(world: World, stream: Stream) -> tuple[str, str]:
    """Draw who is first and second; the first may have left since."""
    first, second = stream.sample(sorted(members(world, TEAM)), 2)
    gone = world.staff.departed(TEAM)
    return (gone[0].id if gone and stream.chance(HAS_LEFT) else first), second


def _file(world: World, stream: Stream, title: str, fields: dict[str, Any]) -> RecordRow:
    filed_at = office_moment(stream, working_days_from(world.today, -stream.integer(10, 55)))
    record = RecordRow(
        id=world.ids.take("DOC"),
        kind="document",
        title=title,
        state="published",
        owner_id=stream.choice(world.staff.active(TEAM)).id,
        vendor_id=None,
        amount_cents=None,
        currency=None,
        starts_on=None,
        ends_on=None,
        fields=fields,
        created_at=filed_at,
        updated_at=filed_at,
    )
    world.hub.records.append(record)
    return record
