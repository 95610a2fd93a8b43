"""Approval types as they travel."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path
from pydantic import ConfigDict, Field

from companyos_approvalflow.approval_types.model import FieldType
from companyos_shared.chassis import Answer
from companyos_shared.wire.company import Role

TypeKey = Annotated[str, Path(max_length=64, examples=["vendor_onboarding"])]


class ApprovalTypeRow(Answer):
    """An approval type in a list."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {"key": "vendor_onboarding", "title": "Vendor onboarding", "policy_ref": "POL-007-v3"}
        }
    )

    key: str
    title: str
    policy_ref: str | None = Field(description="Id of the policy behind the type.")


class FieldSpec(Answer):
    """A field that requests of the type have."""

    name: str
    type: FieldType
    required: bool
    description: str
    max_age_minutes: int | None = Field(description="Oldest evidence accepted, counted at submission.")
    names_beneficiary: bool = Field(description="Holds the id of the person the request is about.")


class Threshold(Answer):
    """The role that decides up to an amount."""

    up_to_cents: int | None = Field(description="Included; null is without limit.")
    role: Role


class ApprovalType(ApprovalTypeRow):
    """An approval type with its fields and limits."""

    description: str
    fields: list[FieldSpec]
    amount_field: str | None = Field(description="The field that holds the amount in cents.")
    thresholds: list[Threshold]
    second_role: Role | None = Field(description="Role of the second approver.")
    second_above_cents: int | None = Field(description="Amounts above this need the second approver.")
    expires_after_minutes: int = Field(description="An open request expires this long after its submission.")
