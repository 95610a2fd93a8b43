"""Schemas of checklist items."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from companyos_shared.framework import RequestModel, ResponseModel, UtcTime, example


class ChecklistItemView(ResponseModel):
    """An item of a ticket's checklist."""

    model_config = example(id="item-7", text="Order the part", done_at=None, done_by=None)

    id: str
    text: str
    done_at: datetime | None
    done_by: str | None


class CompletedItem(ChecklistItemView):
    """A completed item, with the version of its ticket after the change."""

    model_config = example(
        id="item-7", text="Order the part", done_at="2026-03-02T09:15:00Z", done_by="p-ilse", ticket_version=5
    )

    ticket_version: int = Field(description="The ticket's new version.")


class ChecklistItemSeed(RequestModel):
    """A checklist item in a seed."""

    id: str
    ticket_key: str
    position: int = Field(ge=0)
    text: str
    done_at: UtcTime | None = None
    done_by: str | None = None
