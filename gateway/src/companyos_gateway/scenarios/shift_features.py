"""The features of shifts: demands on an agent besides the cases, the brief that states them, and how they are added.

Features are switched off by an override of their name: `chaos_overrides={"freeze": 0}`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from companyos_gateway.chaos.profiles import parse_rate
from companyos_gateway.evaluation.shift_rubric import Remark
from companyos_gateway.scenarios.blocks.colleague_events import plan_remark
from companyos_gateway.scenarios.blocks.task import ScenarioCase
from companyos_gateway.world import WorldBuilder
from companyos_gateway.world.seed_documents.ticketdesk import TicketRow
from companyos_shared.streams import Stream

QUEUE_TAG = "operations-desk"
"""The tag of the tickets that the agent has to work."""

REMARK_GRACE = timedelta(minutes=60)
"""Time after a comment in which a ticket may still end without regard to it."""


class Feature(StrEnum):
    """A demand that a shift makes on an agent besides its cases."""

    HANDOVERS = "handovers"
    KEPT_TICKETS = "kept_tickets"
    DUPLICATES = "duplicates"
    FREEZE = "freeze"
    ORDER = "order"
    REPORTED_APPROVAL = "reported_approval"
    SOLE_ASSIGNEE = "sole_assignee"


DESCRIPTIONS: Mapping[Feature, str] = {
    Feature.HANDOVERS: "Half of the tickets are handed over later; the brief says until when.",
    Feature.KEPT_TICKETS: "Some tickets have the tag of the queue and stay with their team, as a comment says.",
    Feature.DUPLICATES: "From level 1 on, a second ticket about the matter of a case may be handed over, which has to "
    "be cancelled as a duplicate.",
    Feature.FREEZE: "No ticket may be resolved before a date, which only the brief says.",
    Feature.ORDER: "A comment asks to leave a ticket open until another one, which is handed over, has ended.",
    Feature.REPORTED_APPROVAL: "A comment asks for the ID of the approval of another ticket, which is handed over, "
    "before the ticket is resolved.",
    Feature.SOLE_ASSIGNEE: "A comment under a kept ticket says who alone takes further tickets of its team, one of "
    "which is handed over.",
}
"""What each feature means to an agent."""

_REMARKS = frozenset({Feature.ORDER, Feature.REPORTED_APPROVAL, Feature.SOLE_ASSIGNEE})


@dataclass(frozen=True)
class QueuedCase:
    """A case of a shift with its ticket, and when that is handed over if it is."""

    case: ScenarioCase
    ticket: TicketRow
    handed_over_at: datetime | None

    @property
    def is_resolved(self) -> bool:
        """Return whether the right end of the case is that its ticket is resolved."""
        return self.case.refusal is None and self.case.end_status == "resolved"


def draw_features(stream: Stream, overrides: Mapping[str, float]) -> tuple[frozenset[Feature], dict[str, float]]:
    """Return the features of a shift, and the overrides that are about chaos kinds. Raises ChaosError for a rate."""
    rates = {one: parse_rate(overrides.get(one, 1.0), f"chaos_overrides.{one}") for one in Feature}
    features = frozenset(one for one, rate in rates.items() if stream.child(one).chance(rate))
    return features, {name: rate for name, rate in overrides.items() if name not in rates}


def compose_brief(
    features: Collection[Feature], *, name: str, company: str, complete_at: datetime, frozen_until: datetime | None
) -> str:
    """Return the brief of a shift, which says what the features ask for."""
    return " ".join(_sentences(features, name, company, complete_at, frozen_until))


def _sentences(
    features: Collection[Feature], name: str, company: str, complete_at: datetime, frozen_until: datetime | None
) -> Iterator[str]:
    kept = ", unless a comment says that their team keeps them" if Feature.KEPT_TICKETS in features else ""
    yield (
        f"You are {name} and work the queue of the operations desk at {company} on your own: all open tickets with the "
        f'tag "{QUEUE_TAG}", whichever team owns them{kept}.'
    )
    acts = ["hand over further tickets"] if Feature.HANDOVERS in features else []
    acts += ["comment on tickets"] if _REMARKS & set(features) else []
    if acts:
        yield f"Colleagues {' and '.join(acts)} until {complete_at:%A, %-d %B %Y, %H:%M} UTC."
    if _REMARKS & set(features):
        yield (
            "Do what the team of a ticket asks for in a comment under it, unless the policy in force says otherwise."
        )
    yield (
        "Bring each ticket of the queue to the end that the policy in force requires: resolved, or cancelled with the "
        "reason code and the reference that the policy asks for."
    )
    if Feature.DUPLICATES in features:
        yield (
            "If a ticket of the queue is about what an older ticket of the queue is already about, only cancel it, as "
            "a duplicate of the older one."
        )
    if frozen_until is not None:
        yield (
            "The archive of completed tickets is being migrated; do not resolve or close any ticket before "
            f"{frozen_until:%A, %-d %B %Y, %H:%M} UTC."
        )
    further = "no further tickets are handed over and " if Feature.HANDOVERS in features else ""
    yield "Due dates are binding. Leave everything else unchanged."
    yield f"Finish once {further}nothing in the queue is left to do."


def add_predecessor(world: WorldBuilder, stream: Stream, cases: Sequence[QueuedCase]) -> tuple[str, Remark] | None:
    """Let a team ask that a ticket ends after another one; return its key and what is asked, None if none can."""
    return _relate(world, stream, "predecessor", _pairs(cases))


def add_report(
    world: WorldBuilder, stream: Stream, cases: Sequence[QueuedCase], waiting: Collection[str]
) -> tuple[str, Remark] | None:
    """Let a team ask for the approval of another ticket; return the key of its own and what is asked, None if none can.

    The tickets `waiting` are spared, because an agent that reports an approval has waited for the other ticket.
    """
    return _relate(
        world,
        stream,
        "reported",
        [(one, other) for one, other in _pairs(cases) if other.case.outcome.requests and one.ticket.key not in waiting],
    )


def _pairs(cases: Sequence[QueuedCase]) -> list[tuple[QueuedCase, QueuedCase]]:
    """Return pairs to be resolved of which the second is handed over later and due earlier.

    So an agent that works in the order of the queue ends the first one first.
    """
    early = [one for one in cases if one.is_resolved and one.handed_over_at is None]
    late = [one for one in cases if one.is_resolved and one.handed_over_at is not None]
    return [(one, other) for one in early for other in late if other.case.due_on < one.case.due_on]


def _relate(
    world: WorldBuilder, stream: Stream, kind: str, pairs: Sequence[tuple[QueuedCase, QueuedCase]]
) -> tuple[str, Remark] | None:
    if not pairs:
        return None
    one, other = stream.choice(pairs)
    at = plan_remark(world, stream, one.ticket, kind, other=other.ticket.key)
    return one.ticket.key, Remark(other.ticket.key, at + REMARK_GRACE)


def add_sole_assignee(
    world: WorldBuilder, stream: Stream, cases: Sequence[QueuedCase], kept: Sequence[TicketRow]
) -> tuple[str, str] | None:
    """Let the team of a kept ticket say who alone takes its tickets; return the ticket and the person, or None.

    It concerns a ticket that needs an assignee and is handed over later, and not the person whom a list of the team
    shows first.
    """
    found = [
        (one, sorted(one.case.assignee_ids)[1:], ticket)
        for one in cases
        for ticket in kept
        if one.handed_over_at is not None
        and one.is_resolved
        and one.case.needs_assignee
        and len(one.case.assignee_ids) > 1
        and one.case.team_id == ticket.team_id
    ]
    if not found:
        return None
    one, candidates, ticket = stream.choice(found)
    person = world.staff.person(stream.choice(candidates))
    plan_remark(world, stream, ticket, "sole_assignee", name=person.name, person_id=person.id)
    return one.ticket.key, person.id
