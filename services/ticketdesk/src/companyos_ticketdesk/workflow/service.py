"""Service functions of transitions and history."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, String, insert, literal, null, or_, select, union_all

from companyos_shared.framework import Call, Page, PageParams, ServiceError, check_version, paginate
from companyos_ticketdesk.links.model import list_blockers
from companyos_ticketdesk.tables import removed_links, transitions
from companyos_ticketdesk.tickets.model import Status, Ticket, find_ticket
from companyos_ticketdesk.tickets.service import change_ticket, load_ticket
from companyos_ticketdesk.workflow.rules import Reason, check_may_move, check_reason, reason_of
from companyos_ticketdesk.workflow.schemas import HistoryEntry, HistoryEvent, Move, PlannedTransition


def transition_ticket(call: Call, key: str, move: Move, *, if_match: int | None) -> Ticket:
    """Change a ticket's status as the caller."""
    ticket = load_ticket(call, key)
    check_version(if_match, ticket.version)
    check_may_move(ticket, move.to, blockers=list_blockers(call.db, key))
    reason = reason_of(move.reason_code, move.reason_ref)
    check_reason(move.to, reason, is_given=move.reason_code is not None or move.reason_ref is not None)
    transition_id = f"transition-{call.next_number('transitions')}"
    return _move(call, ticket, move.to, transition_id=transition_id, by=call.person, reason=reason)


def list_history(call: Call, key: str, page: PageParams) -> Page[HistoryEntry]:
    """Return the history of a ticket, oldest first."""
    load_ticket(call, key)
    entries = union_all(_transitions_of(key), _removed_links_of(key)).subquery()
    return paginate(
        call,
        select(entries),
        page,
        order_by=(entries.c.at, entries.c.id),
        build=HistoryEntry.model_validate,
    )


def apply_transition(call: Call, payload: dict[str, Any]) -> None:
    """Apply a colleague's scheduled transition, if it is still allowed."""
    planned = PlannedTransition.model_validate(payload)
    ticket = find_ticket(call.db, planned.ticket_key)
    if ticket is None or not _may_move(call, ticket, planned.to_status):
        return
    reason = reason_of(planned.reason_code, planned.reason_ref)
    _move(call, ticket, planned.to_status, transition_id=planned.id, by=planned.by, reason=reason)


def _may_move(call: Call, ticket: Ticket, to: Status) -> bool:
    try:
        check_may_move(ticket, to, blockers=list_blockers(call.db, ticket.key))
    except ServiceError:
        return False
    return True


def _move(call: Call, ticket: Ticket, to: Status, *, transition_id: str, by: str, reason: Reason | None) -> Ticket:
    why = {"reason_code": reason and reason.code, "reason_ref": reason and reason.ref}
    made = {"id": transition_id, "ticket_key": ticket.key, "at": call.now, "by": by}
    call.db.execute(insert(transitions), {**made, "from_status": ticket.status, "to_status": to, **why})
    return change_ticket(call, ticket, status=to, **why)


def _transitions_of(key: str) -> Select[Any]:
    return select(
        transitions.c.id,
        literal(HistoryEvent.TRANSITION.value).label("event"),
        transitions.c.at,
        transitions.c.by,
        transitions.c.from_status,
        transitions.c.to_status,
        transitions.c.reason_code,
        transitions.c.reason_ref,
        null().cast(String).label("link"),
        null().cast(String).label("justification"),
    ).where(transitions.c.ticket_key == key)


def _removed_links_of(key: str) -> Select[Any]:
    entries = removed_links.c.from_key + " " + removed_links.c.kind + " " + removed_links.c.to_key
    return select(
        removed_links.c.id,
        literal(HistoryEvent.LINK_REMOVED.value).label("event"),
        removed_links.c.removed_at,
        removed_links.c.removed_by,
        *(null().cast(String).label(name) for name in ("from_status", "to_status", "reason_code", "reason_ref")),
        entries.label("link"),
        removed_links.c.justification,
    ).where(or_(removed_links.c.from_key == key, removed_links.c.to_key == key))
