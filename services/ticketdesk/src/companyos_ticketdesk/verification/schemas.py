"""Request schema of an approval link."""

from __future__ import annotations

from pydantic import Field

from companyos_shared.framework import RequestModel, example
from companyos_ticketdesk.tickets.schemas import REF_CHARS


class ApprovalLink(RequestModel):
    """The approval to link. TicketDesk does not check the reference."""

    model_config = example(approval_ref="APR-208")

    approval_ref: str = Field(max_length=REF_CHARS, description="ID of the approval request.")
