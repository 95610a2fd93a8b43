"""Data issues: kinds, request bodies and responses."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field
from pydantic.config import JsonDict

from companyos_shared.choices import Choice
from companyos_shared.framework import NotBlank, RequestModel, ResponseModel, example
from companyos_shared.wire.company import ReasonCode


class IssueKind(Choice):
    """Kind of a data issue."""

    STALE = "stale"
    WRONG = "wrong"
    CONFLICTING = "conflicting"
    MISSING = "missing"
    SUSPICIOUS = "suspicious"
    NOT_ELIGIBLE = "not_eligible"


_SENT: JsonDict = {
    "subject": "MET-1042",
    "kind": "stale",
    "reason_code": "data_unavailable",
    "reason_ref": "SRC-RISK",
    "description": "The score is eight days old and every refresh fails.",
}


class DataIssueReport(RequestModel):
    """A data issue to report."""

    model_config = example(**_SENT)

    subject: str = Field(
        min_length=1, max_length=64, description="ID of a metric, source, record, vendor, person or policy."
    )
    kind: IssueKind = Field(description="What is wrong with the data.")
    description: Annotated[str, NotBlank] = Field(min_length=1, max_length=2000, description="What was found.")
    reason_code: ReasonCode | None = Field(
        None, description="Reason for ending the work, if this issue ends it; requires reason_ref."
    )
    reason_ref: Annotated[str, Field(min_length=1, max_length=64), NotBlank] | None = Field(
        None, description="ID of the object behind the reason; requires reason_code."
    )


class DataIssue(ResponseModel):
    """A reported issue."""

    model_config = example(**_SENT, id="DI-4", reported_by="E-1001", reported_at="2026-03-02T09:15:00Z")

    id: str
    subject: str
    kind: IssueKind
    reason_code: ReasonCode | None
    reason_ref: str | None
    description: str
    reported_by: str
    reported_at: datetime
