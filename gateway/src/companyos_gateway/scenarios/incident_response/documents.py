"""An incident: reports of a failing service, the change that caused it, and documents on services and on-call duty."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from enum import StrEnum
from typing import Any

from companyos_gateway.scenarios import kit

TEAM, TAGS = "platform", ("incident", "production")
THRESHOLDS = (5, 8)
LOWEST_RATE, HIGHEST_RATE = 20, 40
"""Range of error rates of incidents, in errors per 1,000 requests; the limits of priorities lie above the policy's."""

MAX_REPORTS, CHANGES = 8, 4
WEEK = timedelta(days=7)
HAS_LEFT = 0.4
"""Probability that a schedule names a former employee first, if the team has one."""

Words = Mapping[str, Any]
OnCall = Mapping[date, tuple[str, str]]
"""IDs of the people on call first and second, by the Monday of the week."""


class Variant(StrEnum):
    """Variant of the case: a change to roll back, a colleague's rollback, or an upstream service."""

    ROLLBACK = "rollback"
    HOTFIX = "hotfix"
    UPSTREAM = "upstream"


class RefusalGround(StrEnum):
    """Ground for refusing an incident; the value is the policy's reason code."""

    BELOW = "requirement_not_met"
    KNOWN = "duplicate"
    MAINTENANCE = "withdrawn"


@dataclass(frozen=True, kw_only=True)
class Outage:
    """A failing service; nothing is wrong with `others`."""

    variant: Variant
    ground: RefusalGround | None
    service: str
    dependency: str
    others: tuple[str, ...]
    release: str
    other_release: str
    rate: int
    threshold: int

    @property
    def changed(self) -> str:
        """The service whose release is the cause."""
        return self.dependency if self.variant is Variant.UPSTREAM else self.service


@dataclass(frozen=True, kw_only=True)
class Incident:
    """An outage with the records about it; `lookalike_key` is an unrelated report that seems to be one of them."""

    outage: Outage
    rate: kit.MetricSpec
    cause_key: str
    report_keys: tuple[str, ...]
    known_key: str
    lookalike_key: str
    notice_id: str
    on_call: OnCall

    def on_call_id(self, world: kit.WorldBuilder, reported_on: date, due_on: date) -> str:
        """Return the person on call for a ticket with these days of opening and due date."""
        first, second = self.on_call[_monday(reported_on)]
        return first if first in kit.available_assignees(world, TEAM, due_on) else second


def add_incident(build: kit.BuildContext, words: Words) -> Incident:
    """Add the records of an incident, and keep two late keys of the team free for tickets about it."""
    world = build.world
    outage = _draw_outage(build.child("outage"))
    rate = _add_rate(build.child("rate"), outage)
    _file_runbooks(build.child("runbooks"), outage)
    on_call = _file_on_call(build.child("on_call"))
    own = build.child("reports")
    slots = kit.recent_key_slots(world, own.stream, TEAM, CHANGES + MAX_REPORTS + 2)
    cause_key = _add_changes(own, words["changes"], outage, slots[:CHANGES])
    world.ticket_slots[TEAM] += slots[CHANGES : CHANGES + 2]
    late = iter(slots[CHANGES + 2 :])
    is_known = outage.ground is RefusalGround.KNOWN
    in_work = outage if is_known else replace(outage, service=outage.others[0])
    known_key = _add_report(own, words, in_work, next(late), "in_progress")
    report_keys = tuple(
        _add_report(own, words, outage, next(late), own.stream.choice((None, "open")))
        for _ in range(own.stream.integer(2, 3))
    )
    unrelated = [_add_report(own, words, one, next(late), None) for one in _unrelated_outages(outage, build.kinds)]
    return Incident(
        outage=outage,
        rate=rate,
        cause_key=cause_key,
        report_keys=report_keys,
        known_key=known_key,
        lookalike_key=unrelated[-1] if kit.Kind.SIMILAR_NAMES in build.kinds else "",
        notice_id=_file_notice(build.child("notice"), outage),
        on_call=on_call,
    )


def citations_of(words: Words, outage: Outage) -> list[str]:
    """Return the sentences that report an outage."""
    return list(words["citations"]["below" if outage.variant is Variant.UPSTREAM else "own"])


def _draw_outage(build: kit.BuildContext) -> Outage:
    """Draw a failing service among those without an error rate."""
    world, stream = build.world, build.stream
    measured = {metric.subject for metric in world.datahub.metrics if metric.key == kit.ERROR_RATE}
    names = stream.shuffled(kit.pool("data")["slots"]["service"])
    service = next(name for name in names if name not in measured)
    dependency, *others = [name for name in names if name != service]
    ground = build.draw_ground(RefusalGround)
    threshold = stream.integer(*THRESHOLDS)
    rates = (1, threshold - 1) if ground is RefusalGround.BELOW else (LOWEST_RATE, HIGHEST_RATE)
    major, minor = stream.integer(2, 19), stream.integer(1, 30)
    return Outage(
        variant=stream.choice(list(Variant)),
        ground=ground,
        service=service,
        dependency=dependency,
        others=tuple(others[:3]),
        release=f"{major}.{minor + 1}",
        other_release=f"{major}.{minor}",
        rate=stream.integer(*rates),
        threshold=threshold,
    )


def _add_rate(build: kit.BuildContext, outage: Outage) -> kit.MetricSpec:
    """Add the error rate; other sources report a value on the other side of the threshold."""
    sources, threshold = kit.error_rate_sources(build), outage.threshold
    plan = kit.error_rate_plan(sources, outage.service, outage.rate, threshold=threshold, highest=HIGHEST_RATE)
    return kit.add_task_metric(build.world, build.stream, plan, build.kinds)


def _unrelated_outages(outage: Outage, kinds: Collection[kit.Kind]) -> Iterator[Outage]:
    """Yield the outages that unrelated reports are about."""
    yield replace(outage, service=outage.others[1], release=outage.other_release)
    if kit.Kind.SIMILAR_NAMES in kinds:
        yield replace(outage, release=outage.other_release)
        yield replace(outage, service=outage.others[2])


def _add_report(
    build: kit.BuildContext, words: Words, outage: Outage, slot: kit.KeySlot, status: kit.Status | None
) -> str:
    """Add a ticket that reports an outage, and return its key."""
    world, stream = build.world, build.stream
    day = slot.created_at.date()
    people = [one.name for one in world.staff.active() if one.id != world.agent_id]
    slots = {"service": outage.service, "release": outage.release, "person": stream.choice(people)}
    known = {text for one in world.ticketdesk.tickets for text in (one.title, one.description)}
    titles = [text.format(**slots) for text in words["report_titles"]]
    descriptions = [text.format(**slots) for text in citations_of(words, outage)]
    description = stream.choice([text for text in descriptions if text not in known] or descriptions)
    ticket = build.file_ticket(
        slot,
        type="incident",
        title=stream.choice([text for text in titles if text not in known] or titles),
        description=description,
        status=status,
        priority=stream.choice(("medium", "high")) if status else None,
        assignee_id=stream.choice(world.present(day, team_id=TEAM)).id if status == "in_progress" else None,
        reporter_id=kit.draw_reporter(world, stream, slot.created_at, description),
        team_id=TEAM,
        tags=TAGS,
        due_at=kit.closing_time(build.working_day(6, 9)),
    )
    return ticket.key


def _add_changes(build: kit.BuildContext, words: Words, outage: Outage, slots: Sequence[kit.KeySlot]) -> str:
    """Add recent changes, and return the key of the one that is the cause."""
    world, stream = build.world, build.stream
    release, earlier, changed = outage.release, outage.other_release, outage.changed
    untouched = outage.service if outage.variant is Variant.UPSTREAM else outage.dependency
    rolled_out = stream.shuffled([(changed, release), (changed, earlier), (outage.others[0], release)])
    rolled_out.insert(stream.integer(0, len(rolled_out)), (untouched, earlier))
    by_owner = outage.variant is Variant.HOTFIX
    key = ""
    for (service, number), slot in zip(rolled_out, slots, strict=True):
        is_cause = (service, number) == (changed, release)
        status: kit.Status = "in_progress" if is_cause and by_owner else "in_review"
        ticket = _add_change(build, words, service, number, slot, status)
        if is_cause:
            key, owner_id = ticket.key, str(ticket.assignee_id)
            comment = words["theirs" if by_owner else "ours"]
            kit.add_comment(world, ticket, author_id=owner_id, at=ticket.updated_at, body=comment)
            if by_owner:
                due_at = world.company().add_office_minutes(world.started_at, stream.integer(*kit.WAIT_MINUTES))
                data = {"id": "transition-by-owner", "ticket_key": key, "by": owner_id, "to_status": "resolved"}
                world.ticketdesk.scheduled_events.append(
                    kit.TicketDeskEvent(due_at=due_at, kind="transition", data=data)
                )
    return key


def _add_change(
    build: kit.BuildContext, words: Words, service: str, release: str, slot: kit.KeySlot, status: kit.Status
) -> kit.TicketRow:
    world, stream = build.world, build.stream
    slots = {"service": service, "release": release}
    team = world.present(slot.created_at.date(), world.today + kit.WAIT_DAYS, team_id=TEAM)
    return build.file_ticket(
        slot,
        type="change",
        title=stream.choice(words["titles"]).format(**slots),
        description=stream.choice(words["texts"]).format(**slots),
        status=status,
        priority="medium",
        assignee_id=stream.choice([one for one in team if one.id != world.agent_id]).id,
        reporter_id=stream.choice(team).id,
        team_id=TEAM,
        tags=["release"],
    )


def _file_runbooks(build: kit.BuildContext, outage: Outage) -> None:
    """File the runbooks of the services, which state the dependencies of each."""
    world, stream = build.world, build.stream
    service, dependency, others = outage.service, outage.dependency, outage.others
    depends_on = {service: dependency, dependency: others[2], others[0]: others[1]}
    for name in stream.shuffled([service, dependency, *others]):
        fields = {"document_type": "runbook", "service": name, "depends_on": depends_on.get(name, "nothing")}
        _file(build, f"Runbook: {name}", fields, before=world.today)


def _file_on_call(build: kit.BuildContext) -> OnCall:
    """File the on-call schedule of each week around the start; the person named second is always present."""
    world, stream, gone = build.world, build.stream, build.world.staff.departed(TEAM)
    on_call = {}
    for number in range(-2, 3):
        first, second = stream.sample(sorted(kit.members_without_role(world, TEAM)), 2)
        if gone and stream.chance(HAS_LEFT):
            first = gone[0].id
        on_call[_monday(world.today) + number * WEEK] = (first, second)
    for first_day, (first, second) in on_call.items():
        left_on = world.staff.person(first).employed_to or world.today
        fields = {"document_type": "on_call_schedule", "first": first, "second": second}
        title = f"Platform Engineering on-call schedule, week of {first_day}"
        _file(build, title, fields, min(first_day, left_on, world.today), (first_day, WEEK.days - 1))
        world.remove_absences(second)
    return on_call


def _file_notice(build: kit.BuildContext, outage: Outage) -> str:
    """File a maintenance notice: current and about the service if that is the ground, else about another one or old."""
    world, stream = build.world, build.stream
    is_now = outage.ground is RefusalGround.MAINTENANCE
    is_other = not is_now and stream.chance(0.5)
    service = outage.others[0] if is_other else outage.service
    days_ago = stream.integer(6, 9) + (0 if is_now or is_other else stream.integer(30, 60))
    first_day = world.today - timedelta(days=days_ago)
    fields = {"document_type": "maintenance_notice", "service": service}
    title = f"Maintenance notice: {service}"
    return _file(build, title, fields, first_day, (first_day, stream.integer(14, 20))).id


def _file(
    build: kit.BuildContext, title: str, fields: dict[str, Any], before: date, period: tuple[date, int] | None = None
) -> kit.RecordRow:
    """File a document of the team some days before a day; `period` is its first day and the number of further days."""
    world, stream = build.world, build.stream
    return build.file_record(
        "document",
        title=title,
        state="published",
        day=kit.working_days_from(before, -stream.integer(10, 55)),
        fields=fields,
        owner_id=stream.choice(world.staff.active(TEAM)).id,
        starts_on=period[0] if period else None,
        ends_on=period[0] + timedelta(days=period[1]) if period else None,
    )


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())
