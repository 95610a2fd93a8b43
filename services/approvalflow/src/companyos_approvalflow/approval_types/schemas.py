"""Response schemas of approval types."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path
from pydantic import Field

from companyos_approvalflow.approval_types.model import FieldType
from companyos_shared.framework import ResponseModel, example
from companyos_shared.wire.company import Role

TypeKey = Annotated[str, Path(max_length=64, examples=["vendor_onboarding"], description="Key of the approval type.")]


class ApprovalTypeRow(ResponseModel):
    """An approval type in a list."""

    model_config = example(key="vendor_onboarding", title="Vendor onboarding", policy_ref="POL-007-v3")

    key: str
    title: str
    policy_ref: str | None = Field(description="ID of the policy that governs the type.")


class FieldSpec(ResponseModel):
    """A field of requests of the type."""

    name: str
    type: FieldType
    required: bool
    description: str
    max_age_minutes: int | None = Field(
        description="Maximum age of the evidence when the request is submitted; it may age further after that."
    )
    names_beneficiary: bool = Field(description="Contains the ID of the beneficiary, who must not be the approver.")


class Threshold(ResponseModel):
    """The role that decides amounts up to a limit."""

    up_to_cents: int | None = Field(description="Highest amount that the role decides, inclusive; null: any amount.")
    role: Role


class ApprovalType(ApprovalTypeRow):
    """An approval type with its fields and limits."""

    description: str
    fields: list[FieldSpec]
    amount_field: str | None = Field(description="Field with the amount in cents; null: every request counts as 0.")
    thresholds: list[Threshold] = Field(description="The first threshold that covers the amount gives the role.")
    second_role: Role | None = Field(description="Role of the second approver.")
    second_above_cents: int | None = Field(description="Amounts above this also need the second approver.")
    expires_after_minutes: int = Field(description="Requests that are still open expire this long after submission.")
    administered_by: list[str] = Field(description="IDs of the teams whose members may cancel requests of the type.")
