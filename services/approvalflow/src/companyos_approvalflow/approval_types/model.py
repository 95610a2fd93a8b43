"""Approval types: fields, deciding roles by amount, and limits."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field
from sqlalchemy import Connection, bindparam, select

from companyos_approvalflow import tables
from companyos_shared.choices import Choice
from companyos_shared.framework import FixedSelect, ResponseModel, example
from companyos_shared.wire.company import Role

FieldValue = str | int | float | bool
Fields = Mapping[str, FieldValue]


class FieldType(Choice):
    """Type of a request field. Datetimes have a UTC offset."""

    TEXT = "text"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    DATETIME = "datetime"
    DATE = "date"


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

    def amount_cents(self, fields: Fields) -> int:
        """Return the requested amount; a request without an amount counts as 0 cents."""
        value = fields.get(self.amount_field, 0) if self.amount_field else 0
        return value if isinstance(value, int) else 0

    def role_for(self, amount_cents: int) -> Role:
        """Return the role that decides the amount; raises ValueError if no threshold covers it."""
        for threshold in self.thresholds:
            if threshold.up_to_cents is None or amount_cents <= threshold.up_to_cents:
                return threshold.role
        raise ValueError(f"no threshold of {self.key} covers {amount_cents} cents")

    def approvals_needed(self, amount_cents: int) -> int:
        """Return the number of required approvals: 2 above the second approver's limit, else 1."""
        limit = self.second_above_cents
        return 2 if self.second_role is not None and limit is not None and amount_cents > limit else 1

    def deciding_role(self, amount_cents: int, approvals_given: int) -> Role:
        """Return the role of the next decision: first the role of the threshold, then that of the second approver."""
        if approvals_given and self.second_role is not None:
            return self.second_role
        return self.role_for(amount_cents)


_BY_KEY = FixedSelect(select(tables.approval_types).where(tables.approval_types.c.key == bindparam("key")))


def read_type(db: Connection, key: str) -> ApprovalType | None:
    """Return the approval type with that key, or None."""
    row = _BY_KEY.row(db, key=key)
    return None if row is None else ApprovalType.model_validate(row)
