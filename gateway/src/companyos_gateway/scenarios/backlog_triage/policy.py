"""The triage policy: who orders a sweep, the order of work, and assignment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.ticket_goals import TicketGoal
from companyos_gateway.scenarios.backlog_triage.case import RefusalGround, Variant
from companyos_gateway.scenarios.backlog_triage.documents import RAISED_FROM, TYPES, Item, TicketQueue, texts
from companyos_gateway.scenarios.blocks.policy_versions import (
    PRIORITIES,
    PolicyParameters,
    add_policy_versions,
    draw_other_priority,
)
from companyos_gateway.scenarios.blocks.ticket import available_assignees
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.calendar import draw_office_time, working_days_from
from companyos_gateway.world.seed_documents.datahub import PolicyRow, RecordRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream
from companyos_shared.wire.company import AbsenceKind

TOPIC = "triage"
URGENT: tuple[Priority, ...] = ("high", "critical")
STEADY = 2
"""How many of the team, apart from its lead, are at work all the time."""


@dataclass(frozen=True)
class PolicyTerms:
    """The policy version in force, and its figures."""

    policy: PolicyRow
    figures: PolicyParameters

    @property
    def max_per_person(self) -> int | None:
        """The maximum number of tickets per person, if the policy sets one."""
        return self.figures.get("most_each")


def keep_some_in_office(world: WorldBuilder, stream: Stream, team_id: str) -> None:
    """Let the lead of a team and a few of it be at work all the time."""
    lead = world.staff.lead(team_id)
    others = [one.id for one in world.staff.active(team_id) if one.id != lead.id]
    for person_id in [lead.id, *stream.sample(others, STEADY)]:
        world.remove_absences(person_id)


def add_asset_cards(world: WorldBuilder, stream: Stream, queue: TicketQueue) -> dict[str, str]:
    """File who owns each asset, one of whom cannot take a ticket; return the owners by asset."""
    team = [one.id for one in world.staff.active(queue.team_id)]
    assets = list(dict.fromkeys(item.asset for item in queue.items))
    owners = {asset: stream.choice(team) for asset in assets}
    unlucky = stream.choice(queue.kept)
    gone = world.staff.departed(queue.team_id)
    if gone and stream.chance(0.5):
        owners[unlucky.asset] = gone[0].id
    else:
        _set_absent(world, unlucky, owners[unlucky.asset], lead_id=world.staff.lead(queue.team_id).id)
    for asset in stream.shuffled(assets):
        _file(world, stream, asset, owners[asset])
    return owners


def add_policy(
    world: WorldBuilder,
    stream: Stream,
    queue: TicketQueue,
    scale: PolicyParameters,
    *,
    variant: Variant,
    ground: RefusalGround | None,
    kinds: Collection[Kind],
) -> PolicyTerms:
    """Add the policy; earlier versions rank the types differently and find another number of tickets enough."""
    count, is_few = len(queue.in_scope), ground is RefusalGround.TOO_FEW
    spread = {"most_each": _fair_share(world, stream, queue)} if variant is Variant.SPREAD else {}
    in_force = {**scale, **_least(stream, count, is_few=is_few), **spread}
    words = texts()["policy"]

    def superseded(own: Stream) -> PolicyParameters:
        levels = {f"{kind}_priority": draw_other_priority(own, scale[f"{kind}_priority"]) for kind in TYPES}
        more = {name: share + own.integer(1, 3) for name, share in spread.items()}
        raised = {"raise_from_people": own.integer(*RAISED_FROM)}
        return {**levels, **raised, **_least(own, count, is_few=not is_few), **more}

    def body(_figures: Mapping[str, Any]) -> str:
        text: str = words["body"]
        return text.replace("ASSIGN", words[variant.value])

    policy = add_policy_versions(
        world,
        stream,
        titles=words["titles"],
        topic=TOPIC,
        body=body,
        in_force=in_force,
        superseded=superseded,
        kinds=kinds,
    )
    return PolicyTerms(policy, in_force)


def goals_of(
    world: WorldBuilder, queue: TicketQueue, policy_terms: PolicyTerms, *, variant: Variant, owners: Mapping[str, str]
) -> tuple[TicketGoal, ...]:
    """Return how each ticket of the sweep must end; absences are settled."""
    goals = []
    for item in queue.in_scope:
        if item.original is not None:
            goals.append(TicketGoal(key=item.ticket.key, original=item.original.ticket.key))
            continue
        level = item.level(policy_terms.figures)
        may = _may_take(world, item, level, variant=variant, owner_id=owners.get(item.asset))
        held = item.ticket.assignee_id
        goals.append(TicketGoal(key=item.ticket.key, priority=level, assignee_ids=(held,) if held in may else may))
    return tuple(goals)


def most_urgent(queue: TicketQueue, policy_terms: PolicyTerms) -> Priority:
    """Return the priority of the most urgent ticket of the sweep."""
    return max((item.level(policy_terms.figures) for item in queue.kept), key=PRIORITIES.index)


def _may_take(
    world: WorldBuilder, item: Item, level: Priority, *, variant: Variant, owner_id: str | None
) -> tuple[str, ...]:
    able, lead_id = _available(world, item), world.staff.lead(item.ticket.team_id).id
    if variant is Variant.OWNERS:
        return (owner_id,) if owner_id in able else (lead_id,)
    if variant is Variant.LEAD:
        return (lead_id,) if level in URGENT else tuple(one for one in able if one != lead_id)
    return able


def _available(world: WorldBuilder, item: Item) -> tuple[str, ...]:
    assert item.ticket.due_at is not None
    return available_assignees(world, item.ticket.team_id, item.ticket.due_at.date())


def _fair_share(world: WorldBuilder, stream: Stream, queue: TicketQueue) -> int:
    """Return how many tickets one person may get, so that those who are always there suffice."""
    steady = set.intersection(*(set(_available(world, item)) for item in queue.kept))
    share = -(-len(queue.kept) // len(steady))
    held = Counter(item.ticket.assignee_id for item in queue.kept if item.ticket.assignee_id in _available(world, item))
    return max([share + stream.integer(0, 1), *held.values()])


def _least(stream: Stream, count: int, *, is_few: bool) -> PolicyParameters:
    return {"least_tickets": count + stream.integer(1, 4) if is_few else stream.integer(max(2, count - 3), count)}


def _set_absent(world: WorldBuilder, item: Item, person_id: str, *, lead_id: str) -> None:
    """Let the owner be away when the ticket is due; the lead and whoever the agent acts for stay."""
    assert item.ticket.due_at is not None
    day = item.ticket.due_at.date()
    if person_id not in (lead_id, world.agent_id):
        first, last = day - timedelta(days=2), day + timedelta(days=3)
        world.set_absence(person_id, first_day=first, last_day=last, kind=AbsenceKind.VACATION)


def _file(world: WorldBuilder, stream: Stream, asset: str, owner_id: str) -> None:
    filed_at = draw_office_time(stream, working_days_from(world.today, -stream.integer(10, 55)))
    world.datahub.records.append(
        RecordRow(
            id=world.ids.take("DOC"),
            kind="document",
            title=f"Asset card: {asset}",
            state="published",
            owner_id=owner_id,
            vendor_id=None,
            amount_cents=None,
            currency=None,
            starts_on=None,
            ends_on=None,
            fields={"document_type": "asset_card", "asset": asset},
            created_at=filed_at,
            updated_at=filed_at,
        )
    )
