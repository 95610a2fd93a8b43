"""Response schemas of ticket lists and details."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from companyos_shared.framework import ResponseModel, example
from companyos_ticketdesk.checklist.schemas import ChecklistItemView
from companyos_ticketdesk.links.schemas import LinkedTicket
from companyos_ticketdesk.tickets.model import Priority, Status, TicketType
from companyos_ticketdesk.tickets.schemas import EXAMPLE_TICKET, TicketView


class TicketRow(ResponseModel):
    """A ticket in a list."""

    model_config = example(
        key="OPS-1042",
        type="request",
        title="Replace the badge reader at the north entrance",
        status="in_progress",
        priority="medium",
        assignee_id="p-ilse",
        team_id="t-facilities",
        due_at="2026-03-06T17:00:00Z",
    )

    key: str
    type: TicketType
    title: str
    status: Status | None = Field(description="Null: untriaged.")
    priority: Priority | None
    assignee_id: str | None
    team_id: str
    due_at: datetime | None


class TicketDetail(TicketView):
    """A ticket with its checklist, links and allowed transitions."""

    model_config = example(
        **EXAMPLE_TICKET,
        checklist=[{"id": "item-7", "text": "Order the part", "done_at": None, "done_by": None}],
        links=[{"id": "link-12", "relation": "blocks", "key": "OPS-1043", "status": "blocked"}],
        allowed_transitions=["open", "blocked", "in_review", "resolved", "cancelled"],
    )

    checklist: list[ChecklistItemView]
    links: list[LinkedTicket]
    allowed_transitions: list[Status]
