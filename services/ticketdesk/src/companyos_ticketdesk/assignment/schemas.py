"""Request schema of assignment."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from companyos_shared.framework import RequestModel


class Assignment(RequestModel):
    """Assignee of a ticket."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"assignee_id": "p-ilse"}]})

    assignee_id: str = Field(max_length=64, description="ID of the person.")
