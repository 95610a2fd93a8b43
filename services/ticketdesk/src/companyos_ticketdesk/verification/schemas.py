"""What it takes to link an approval."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from companyos_shared.chassis import Body
from companyos_ticketdesk.tickets.schemas import REF_CHARS


class ApprovalLink(Body):
    """The approval to link. The reference is opaque: TicketDesk does not look behind it."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"approval_ref": "APR-208"}]})

    approval_ref: str = Field(max_length=REF_CHARS, description="Id of the approval request.")
