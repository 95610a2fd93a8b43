"""ASGI app of TicketDesk: `uvicorn companyos_ticketdesk.main:app`."""

from __future__ import annotations

from importlib.metadata import version

from companyos_shared.framework import EventHandlers, Service, create_app, demo_toml
from companyos_ticketdesk import tables
from companyos_ticketdesk.answers import KIND as ANSWER
from companyos_ticketdesk.answers import apply_answer
from companyos_ticketdesk.assignment.routes import router as assignment
from companyos_ticketdesk.board.routes import router as board
from companyos_ticketdesk.checklist.routes import router as checklist
from companyos_ticketdesk.comments.routes import router as comments
from companyos_ticketdesk.comments.service import apply_comment
from companyos_ticketdesk.deferred_events import KIND, once_verified
from companyos_ticketdesk.links.routes import router as links
from companyos_ticketdesk.pages import PAGES
from companyos_ticketdesk.seed import Seed, load_seed
from companyos_ticketdesk.tickets.routes import router as tickets
from companyos_ticketdesk.tickets.service import apply_change, apply_ticket
from companyos_ticketdesk.verification.routes import router as verification
from companyos_ticketdesk.workflow.routes import router as workflow
from companyos_ticketdesk.workflow.service import apply_transition

EVENT_HANDLERS: EventHandlers = {
    "ticket": apply_ticket,
    "comment": apply_comment,
    "transition": apply_transition,
    "change": apply_change,
    ANSWER: apply_answer,
}

SERVICE = Service(
    name="ticketdesk",
    title="TicketDesk",
    description=(
        "Tickets of a simulated company: triage, assignment, verification, status changes and links. Times are "
        "simulated and in UTC; people and teams are referenced by id. Errors are `application/problem+json` with a "
        "stable `code`."
    ),
    version=version("companyos-ticketdesk"),
    metadata=tables.metadata,
    seed=Seed,
    load_seed=load_seed,
    demo_seed=demo_toml(Seed, "companyos_ticketdesk"),
    routers=[board, tickets, workflow, assignment, verification, checklist, comments, links],
    event_handlers={**EVENT_HANDLERS, KIND: once_verified(EVENT_HANDLERS)},
    pages=PAGES,
)

app = create_app(SERVICE)
