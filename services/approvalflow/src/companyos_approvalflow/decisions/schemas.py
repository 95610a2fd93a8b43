"""Request schemas of information and escalation."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from companyos_shared.framework import RequestModel

LONGEST_JUSTIFICATION = 2000
LONGEST_REASON = 500

Id = Annotated[str, Field(min_length=1, max_length=64)]


class Information(RequestModel):
    """Requested information: changed fields, another justification, or both."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"fields": {"score_as_of": "2026-03-03T08:00:00Z"}}},
    )

    fields: dict[str, Any] = Field(default_factory=dict, description="Only what changes.")
    justification: Annotated[str, Field(max_length=LONGEST_JUSTIFICATION)] | None = None


class Escalation(RequestModel):
    """The new approver and the reason."""

    model_config = ConfigDict(json_schema_extra={"example": {"approver_id": "E-104", "reason": "Out until Friday."}})

    approver_id: Id
    reason: str = Field("", max_length=LONGEST_REASON)
    reason_ref: Id | None = Field(None, description="Id of the related policy, record or person.")
