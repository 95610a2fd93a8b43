"""Response schemas of policies."""

from __future__ import annotations

from datetime import date

from pydantic import Field, JsonValue
from pydantic.config import JsonDict

from companyos_shared.framework import ResponseModel, example

_ROW: JsonDict = {
    "policy_id": "POL-007",
    "version": 3,
    "title": "Vendor onboarding",
    "topic": "procurement",
    "effective_from": "2026-01-01",
    "effective_to": None,
}


class PolicyRow(ResponseModel):
    """A version of a policy in a list."""

    model_config = example(**_ROW)

    policy_id: str
    version: int
    title: str
    topic: str
    effective_from: date = Field(description="First day in force.")
    effective_to: date | None = Field(description="Last day in force; null: until further notice.")


class PolicyDetail(PolicyRow):
    """A version of a policy with its text and figures."""

    model_config = example(
        **_ROW,
        body="A vendor is approved by the CFO when its compliance score is at least 70 points.",
        parameters={"min_compliance_score": 70, "max_evidence_age_minutes": 1440},
    )

    body: str
    parameters: dict[str, JsonValue] = Field(description="Figures of the policy by name.")
