"""Approval types: fields, deciding roles by amount, and limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, select

from companyos_approvalflow import tables
from companyos_shared.choices import Choice
from companyos_shared.framework import FixedSelect
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


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A field of a type's requests."""

    name: str
    type: FieldType
    required: bool
    description: str
    max_age_minutes: int | None = None
    names_beneficiary: bool = False


@dataclass(frozen=True, slots=True)
class Threshold:
    """The role that decides amounts up to and including `up_to_cents`; None means no limit."""

    up_to_cents: int | None
    role: Role


@dataclass(frozen=True, slots=True)
class ApprovalType:
    """A type of approval. A request without an amount counts as 0 cents."""

    key: str
    title: str
    description: str
    policy_ref: str | None
    fields: tuple[FieldSpec, ...]
    amount_field: str | None
    thresholds: tuple[Threshold, ...]
    second_role: Role | None
    second_above_cents: int | None
    expires_after_minutes: int
    administered_by: tuple[str, ...] = ()
    """Teams whose members may cancel requests of the type."""

    def amount_cents(self, fields: Fields) -> int:
        """Return the requested amount."""
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


def type_of_row(row: Mapping[str, Any]) -> ApprovalType:
    """Return the approval type of a row."""
    return ApprovalType(
        key=row["key"],
        title=row["title"],
        description=row["description"],
        policy_ref=row["policy_ref"],
        fields=tuple(FieldSpec(**{**spec, "type": FieldType(spec["type"])}) for spec in row["fields"]),
        amount_field=row["amount_field"],
        thresholds=tuple(Threshold(limit["up_to_cents"], Role(limit["role"])) for limit in row["thresholds"]),
        second_role=Role(row["second_role"]) if row["second_role"] else None,
        second_above_cents=row["second_above_cents"],
        expires_after_minutes=row["expires_after_minutes"],
        administered_by=tuple(row["administered_by"]),
    )


def read_type(db: Connection, key: str) -> ApprovalType | None:
    """Return the approval type with that key, or None."""
    row = _BY_KEY.row(db, key=key)
    return None if row is None else type_of_row(row)
