"""The outage: which service fails since which release, how often, and what the policy makes of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import MetricSpec
from companyos_gateway.evaluation.ticket_goals import TicketGoal
from companyos_gateway.scenarios.blocks.approvers import members_without_role
from companyos_gateway.scenarios.blocks.extra_tickets import recent_key_slots
from companyos_gateway.scenarios.blocks.metrics import MetricPlan, add_task_metric, choose_sources, draw_other_value
from companyos_gateway.scenarios.blocks.policy_versions import (
    PRIORITIES,
    PolicyParameters,
    add_policy_versions,
    draw_other_priority,
    draw_priority_limits,
)
from companyos_gateway.scenarios.blocks.texts import load_texts
from companyos_gateway.scenarios.blocks.ticket import WAIT_DAYS, WAIT_MINUTES, available_assignees
from companyos_gateway.scenarios.incident_response.case import METRIC_KEY, RefusalGround, Variant
from companyos_gateway.world.backlog import add_comment, add_history
from companyos_gateway.world.builder import KeySlot, WorldBuilder
from companyos_gateway.world.calendar import closing_time, draw_office_time, working_days_from
from companyos_gateway.world.pools import pool
from companyos_gateway.world.seed_documents.datahub import PolicyRow, RecordRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority, Status, TicketDeskEvent, TicketRow
from companyos_shared.streams import Stream

TOPIC = "incidents"
UNIT = "percent"
BARS = (5, 8)
HIGHEST_RATE = 40
LOWEST_ANSWERED = 12
"""Rates of incidents leave room for three limits of the policy below them."""

SLA_MINUTES = (360, 480, 720)
"""How old the authority lets a rate become: hours, so that a person can decide meanwhile."""


@dataclass(frozen=True, kw_only=True)
class Outage:
    """An outage: service, start and refreshed error rate."""

    variant: Variant
    ground: RefusalGround | None
    service: str
    below: str
    """The service that it depends on."""
    others: tuple[str, ...]
    """Services that nothing is wrong with."""
    release: str
    other_release: str
    rate: int
    bar: int

    @property
    def is_below(self) -> bool:
        """Return whether the refreshed rate is below the incident threshold."""
        return self.ground is RefusalGround.BELOW

    @property
    def changed(self) -> str:
        """The service whose release is the cause."""
        return self.below if self.variant is Variant.UPSTREAM else self.service


@dataclass(frozen=True)
class PolicyTerms:
    """The policy version in force, and the priority that it asks for."""

    policy: PolicyRow
    priority: Priority


def texts() -> dict[str, Any]:
    """Return the words of the scenario."""
    return load_texts(__file__)


def draw_outage(world: WorldBuilder, stream: Stream, *, must_refuse: bool) -> Outage:
    """Draw what fails: a service of which nobody measures the error rate yet."""
    measured = {metric.subject for metric in world.datahub.metrics if metric.key == METRIC_KEY}
    names = stream.shuffled(pool("data")["slots"]["service"])
    service = next(name for name in names if name not in measured)
    below, *others = [name for name in names if name != service]
    variant, ground = stream.choice(list(Variant)), stream.choice(list(RefusalGround))
    refused = ground if must_refuse else None
    bar, is_below = stream.integer(*BARS), refused is RefusalGround.BELOW
    major, minor = stream.integer(2, 19), stream.integer(1, 30)
    return Outage(
        variant=variant,
        ground=refused,
        service=service,
        below=below,
        others=tuple(others[:3]),
        release=f"{major}.{minor + 1}",
        other_release=f"{major}.{minor}",
        rate=stream.integer(1, bar - 1) if is_below else stream.integer(LOWEST_ANSWERED, HIGHEST_RATE),
        bar=bar,
    )


def add_policy(world: WorldBuilder, stream: Stream, outage: Outage, kinds: Collection[Kind]) -> PolicyTerms:
    """Add the policy; earlier versions ask for another priority and draw the bar on the other side of the rate."""
    priority = stream.choice(PRIORITIES)
    words = texts()["policy"]

    def body(_figures: Mapping[str, Any]) -> str:
        text: str = words["body"]
        return text.replace("CAUSE", words[outage.variant.value])

    def superseded(own: Stream) -> PolicyParameters:
        rate = outage.rate
        bar = own.integer(1, rate) if outage.is_below else own.integer(rate + 1, HIGHEST_RATE + 9)
        return _figures(own, outage, draw_other_priority(own, priority), bar)

    policy = add_policy_versions(
        world,
        stream,
        titles=words["titles"],
        topic=TOPIC,
        body=body,
        in_force=_figures(stream, outage, priority, outage.bar),
        superseded=superseded,
        kinds=kinds,
    )
    return PolicyTerms(policy, priority)


def add_rate(world: WorldBuilder, stream: Stream, outage: Outage, kinds: Collection[Kind]) -> MetricSpec:
    """Add the error rate: stale where that strikes, with others who see it on the other side of the bar."""
    sources = choose_sources(world, stream, key=METRIC_KEY, other_keys=("risk_index", "delivery_score"))
    sources.authority.freshness_sla_minutes = stream.choice(SLA_MINUTES)
    across = (outage.bar, HIGHEST_RATE) if outage.is_below else (0, outage.bar - 1)
    old = (outage.bar, HIGHEST_RATE) if outage.is_below else (0, HIGHEST_RATE)
    plan = MetricPlan(
        key=METRIC_KEY,
        subject=outage.service,
        title=f"Error rate of {outage.service}",
        unit=UNIT,
        sources=sources,
        value=outage.rate,
        draw_stale_value=lambda own: draw_other_value(own, outage.rate, *old),
        draw_conflicting_value=lambda own: own.integer(*across),
    )
    return add_task_metric(world, stream, plan, kinds)


def _figures(stream: Stream, outage: Outage, level: Priority, bar: int) -> PolicyParameters:
    medium, high, critical = draw_priority_limits(stream, max(outage.rate, LOWEST_ANSWERED), level, step=1)
    return {
        "medium_from_percent": medium,
        "high_from_percent": high,
        "critical_from_percent": critical,
        "incident_from_percent": bar,
    }


TEAM = "platform"
TAGS = ("incident", "production")
MOST_REPORTS = 8
CHANGES = 4


@dataclass(frozen=True, kw_only=True)
class IncidentTickets:
    """The tickets around the incident."""

    cause: TicketRow
    cause_free_at: datetime
    doubles: tuple[TicketRow, ...]
    known: TicketRow
    look_alike: TicketRow | None

    def goals(self, outage: Outage, key: str) -> tuple[TicketGoal, ...]:
        """Return how the reports must end: merged into the incident's own ticket, unless it is refused."""
        if outage.ground is not None:
            return ()
        return tuple(TicketGoal(key=double.key, original=key) for double in self.doubles)


def add_reports(world: WorldBuilder, stream: Stream, outage: Outage, kinds: Collection[Kind]) -> IncidentTickets:
    """Add the tickets, and leave two late numbers of the team to the incident's own ticket and who else asks."""
    slots = recent_key_slots(world, stream, TEAM, CHANGES + MOST_REPORTS + 2)
    cause, free_at = _add_changes(world, stream, outage, slots[:CHANGES])
    world.ticket_slots[TEAM] += slots[CHANGES : CHANGES + 2]
    late = iter(slots[CHANGES + 2 :])
    known = _add_report(world, stream, _known_incidents(outage), next(late), status="in_progress")
    doubles = tuple(
        _add_report(world, stream, outage, next(late), status=stream.choice((None, "open")))
        for _ in range(stream.integer(2, 3))
    )
    look_alikes = [
        _add_report(world, stream, other, next(late), status=None) for other in _unrelated_reports(outage, kinds)
    ]
    return IncidentTickets(
        cause=cause,
        cause_free_at=free_at,
        doubles=doubles,
        known=known,
        look_alike=look_alikes[-1] if Kind.SIMILAR_NAMES in kinds else None,
    )


def _known_incidents(outage: Outage) -> Outage:
    """Return what the incident is about that somebody works on."""
    if outage.ground is RefusalGround.KNOWN:
        return outage
    return replace(outage, service=outage.others[0])


def _unrelated_reports(outage: Outage, kinds: Collection[Kind]) -> Iterator[Outage]:
    """Yield what reports are about that are none of this incident."""
    yield replace(outage, service=outage.others[1], release=outage.other_release)
    if Kind.SIMILAR_NAMES in kinds:
        yield replace(outage, release=outage.other_release)
        yield replace(outage, service=outage.others[2])


def _add_report(
    world: WorldBuilder, stream: Stream, outage: Outage, slot: KeySlot, *, status: Status | None
) -> TicketRow:
    words = texts()
    people = [one for one in world.present(slot.created_at.date()) if one.id != world.agent_id]
    ticket = TicketRow(
        key=slot.key,
        type="incident",
        title=stream.choice(words["report_titles"]).format(service=outage.service),
        description=report_text(world, stream, outage),
        status=status,
        priority=stream.choice(("medium", "high")) if status else None,
        assignee_id=stream.choice(world.present(slot.created_at.date(), team_id=TEAM)).id
        if status == "in_progress"
        else None,
        reporter_id=stream.choice(people).id,
        team_id=TEAM,
        tags=list(TAGS),
        created_at=slot.created_at,
        updated_at=slot.created_at,
        due_at=closing_time(working_days_from(world.today, stream.integer(6, 9))),
    )
    world.ticketdesk.tickets.append(ticket)
    add_history(world, stream, ticket, ticket.assignee_id or ticket.reporter_id)
    return ticket


def report_text(world: WorldBuilder, stream: Stream, outage: Outage) -> str:
    """Return what somebody writes about an outage."""
    words = texts()["citations"]["below" if outage.variant is Variant.UPSTREAM else "own"]
    text: str = stream.choice(words)
    person = stream.choice(world.staff.active()).name
    return text.format(service=outage.service, release=outage.release, person=person)


def _add_changes(
    world: WorldBuilder, stream: Stream, outage: Outage, slots: list[KeySlot]
) -> tuple[TicketRow, datetime]:
    """Add changes that were rolled out lately; return the cause, and when a colleague has taken it back."""
    release, earlier, changed = outage.release, outage.other_release, outage.changed
    untouched = outage.service if outage.variant is Variant.UPSTREAM else outage.below
    rolled_out = stream.shuffled([(changed, release), (changed, earlier), (outage.others[0], release)])
    rolled_out.insert(stream.integer(0, len(rolled_out)), (untouched, earlier))
    tickets = {}
    for (service, number), slot in zip(rolled_out, slots, strict=True):
        tickets[service, number] = _change(world, stream, service, number, slot)
    cause = tickets[changed, release]
    words: dict[str, Any] = texts()["changes"]
    is_ours = outage.variant is not Variant.HOTFIX
    cause.status = "in_review" if is_ours else "in_progress"
    for ticket in tickets.values():
        add_history(world, stream, ticket, ticket.assignee_id or ticket.reporter_id)
    comment = words["ours" if is_ours else "theirs"]
    assert cause.assignee_id is not None
    add_comment(world, cause, author_id=cause.assignee_id, at=cause.updated_at, body=comment)
    return cause, world.started_at if is_ours else _schedule_rollback(world, stream, cause)


def _change(world: WorldBuilder, stream: Stream, service: str, release: str, slot: KeySlot) -> TicketRow:
    words = texts()["changes"]
    fill = {"service": service, "release": release}
    team = world.present(slot.created_at.date(), world.today + WAIT_DAYS, team_id=TEAM)
    ticket = TicketRow(
        key=slot.key,
        type="change",
        title=stream.choice(words["titles"]).format(**fill),
        description=stream.choice(words["texts"]).format(**fill),
        status="in_review",
        priority="medium",
        assignee_id=stream.choice([one for one in team if one.id != world.agent_id]).id,
        reporter_id=stream.choice(team).id,
        team_id=TEAM,
        tags=["release"],
        created_at=slot.created_at,
        updated_at=slot.created_at,
    )
    world.ticketdesk.tickets.append(ticket)
    return ticket


def _schedule_rollback(world: WorldBuilder, stream: Stream, cause: TicketRow) -> datetime:
    """Let the one who rolled it out take the change back; return when."""
    due_at = world.company().add_office_minutes(world.started_at, stream.integer(*WAIT_MINUTES))
    data = {"id": "transition-by-owner", "ticket_key": cause.key, "by": cause.assignee_id, "to_status": "resolved"}
    world.ticketdesk.scheduled_events.append(TicketDeskEvent(due_at=due_at, kind="transition", data=data))
    return due_at


WEEK = timedelta(days=7)
HAS_LEFT = 0.4
"""How often a rota names somebody first who has left, where the team has lost somebody."""


def add_runbooks(world: WorldBuilder, stream: Stream, outage: Outage) -> None:
    """File the runbooks of the services, which name what each depends on."""
    names = [outage.service, outage.below, *outage.others]
    depends = {outage.service: outage.below, outage.below: outage.others[2], outage.others[0]: outage.others[1]}
    for name in stream.shuffled(names):
        fields = {"document_type": "runbook", "service": name, "depends_on": depends.get(name, "nothing")}
        _file(world, stream, f"Runbook: {name}", fields)


def add_rota(world: WorldBuilder, stream: Stream) -> dict[date, tuple[str, str]]:
    """File who is on call first and second in each week around the start; return it by the Monday of the week."""
    monday = world.today - timedelta(days=world.today.weekday())
    rota = {monday + number * WEEK: _pair(world, stream) for number in range(-2, 3)}
    for first_day, (first, second) in rota.items():
        fields = {"document_type": "rota", "first": first, "second": second}
        title = f"Platform Engineering on-call rota, week of {first_day}"
        left_on = world.staff.person(first).employed_to or world.today
        record = _file(world, stream, title, fields, before=min(first_day, left_on, world.today))
        record.starts_on, record.ends_on = first_day, first_day + WEEK - timedelta(days=1)
    return rota


def keep_on_call(world: WorldBuilder, rota: dict[date, tuple[str, str]]) -> None:
    """Let whoever is on call second be at work."""
    for _, second in rota.values():
        world.remove_absences(second)


def on_call(world: WorldBuilder, rota: dict[date, tuple[str, str]], reported_on: date, due_on: date) -> str:
    """Return who is on call for what was reported on a day and is due on another."""
    first, second = rota[reported_on - timedelta(days=reported_on.weekday())]
    return first if first in available_assignees(world, TEAM, due_on) else second


def add_notice(world: WorldBuilder, stream: Stream, outage: Outage) -> str:
    """File a notice of maintenance: of the service and now where that is the ground, else of another or long ago."""
    is_now = outage.ground is RefusalGround.MAINTENANCE
    is_other = not is_now and stream.chance(0.5)
    service = outage.others[0] if is_other else outage.service
    first_day = world.today - timedelta(days=stream.integer(6, 9))
    if not is_now and not is_other:
        first_day -= timedelta(days=stream.integer(30, 60))
    fields = {"document_type": "maintenance_notice", "service": service}
    record = _file(world, stream, f"Maintenance notice: {service}", fields, before=first_day)
    record.starts_on, record.ends_on = first_day, first_day + timedelta(days=stream.integer(14, 20))
    return record.id


def _pair(world: WorldBuilder, stream: Stream) -> tuple[str, str]:
    """Draw who is first and second; the first may have left since."""
    first, second = stream.sample(sorted(members_without_role(world, TEAM)), 2)
    gone = world.staff.departed(TEAM)
    return (gone[0].id if gone and stream.chance(HAS_LEFT) else first), second


def _file(
    world: WorldBuilder, stream: Stream, title: str, fields: dict[str, Any], *, before: date | None = None
) -> RecordRow:
    """File a document of some days before a day, which is the start unless another one is given."""
    filed_at = draw_office_time(stream, working_days_from(before or world.today, -stream.integer(10, 55)))
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
    world.datahub.records.append(record)
    return record
