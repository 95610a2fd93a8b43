"""Schemas of links."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from companyos_shared.framework import RequestModel, ResponseModel, UtcTime, example
from companyos_ticketdesk.links.model import LinkKind, Relation
from companyos_ticketdesk.tickets.model import Status

JUSTIFICATION_CHARS = 1000


class NewLink(RequestModel):
    """Relation of the ticket in the path to another ticket."""

    model_config = example(kind="blocks", to_key="OPS-1043")

    kind: LinkKind = Field(description="Relation of `key` to `to_key`.")
    to_key: str = Field(max_length=32, description="Key of the other ticket.")


class LinkRemoval(RequestModel):
    """Justification of a link's removal."""

    model_config = example(justification="The part was delivered, nothing is awaited any more.")

    justification: str = Field(
        max_length=JUSTIFICATION_CHARS,
        description="Why the link is wrong or no longer needed, in at least 10 characters.",
    )


class LinkView(ResponseModel):
    """A link between two tickets."""

    model_config = example(
        id="link-12",
        kind="blocks",
        from_key="OPS-1042",
        to_key="OPS-1043",
        created_at="2026-03-02T09:15:00Z",
        created_by="p-ilse",
    )

    id: str
    kind: LinkKind = Field(description="Relation of `from_key` to `to_key`.")
    from_key: str
    to_key: str
    created_at: datetime
    created_by: str


class LinkedTicket(ResponseModel):
    """A link from the perspective of one of its tickets."""

    model_config = example(id="link-12", relation="is_blocked_by", key="OPS-1042", status="in_progress")

    id: str
    relation: Relation = Field(description="Relation of this ticket to the other one.")
    key: str = Field(description="The other ticket.")
    status: Status | None = Field(description="Status of the other ticket.")


class RemovedLinkView(ResponseModel):
    """A removed link with its justification."""

    model_config = example(
        id="link-12",
        kind="blocks",
        from_key="OPS-1042",
        to_key="OPS-1043",
        removed_at="2026-03-02T09:15:00Z",
        removed_by="p-ilse",
        justification="The part was delivered, nothing is awaited any more.",
    )

    id: str
    kind: LinkKind
    from_key: str
    to_key: str
    removed_at: datetime
    removed_by: str
    justification: str


class LinkSeed(RequestModel):
    """A link in a seed."""

    id: str
    kind: LinkKind
    from_key: str
    to_key: str
    created_at: UtcTime
    created_by: str
