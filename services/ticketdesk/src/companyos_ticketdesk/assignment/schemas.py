"""Request schema of assignment."""

from __future__ import annotations

from pydantic import Field

from companyos_shared.framework import RequestModel, example


class Assignment(RequestModel):
    """Assignee of a ticket."""

    model_config = example(assignee_id="p-ilse")

    assignee_id: str = Field(max_length=64, description="ID of the person.")
