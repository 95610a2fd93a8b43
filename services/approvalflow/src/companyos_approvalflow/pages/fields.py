"""The fields of a type and of a request on their pages: in words, with what they hold, and as a form calls them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from companyos_approvalflow.approval_types.model import FieldType
from companyos_approvalflow.approval_types.schemas import ApprovalType, FieldSpec
from companyos_shared.pages.fields import argument_of, shown, titled

_TYPED = {
    FieldType.TEXT: "",
    FieldType.NUMBER: "A number.",
    FieldType.INTEGER: "A whole number.",
    FieldType.BOOLEAN: "",
    FieldType.DATETIME: "UTC, as 2026-03-02T08:40:00Z.",
    FieldType.DATE: "As 2026-03-31.",
}
_AMOUNT = "Type it as money: 1250.00."
_PERSON = "The id of a person."


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field that a type names, or that a request holds without it."""

    name: str
    title: str
    spec: FieldSpec | None
    """None where the type does not name the field."""

    value: str
    argument: str | None
    """What the field is called in a form; None where its name is none that a form has."""

    hint: str
    """How its value is typed."""


def specs_of(of: ApprovalType) -> list[Field]:
    """Return the fields of a type, which hold nothing yet."""
    return fields_of(of, {})


def fields_of(of: ApprovalType, values: Mapping[str, Any]) -> list[Field]:
    """Return the fields of a type with their values in a request, then those that the request alone has."""
    specs = {spec.name: spec for spec in of.fields}
    return [_field(name, specs.get(name), values.get(name)) for name in dict.fromkeys([*specs, *values])]


def _field(name: str, spec: FieldSpec | None, value: object) -> Field:
    kind = FieldType.TEXT if spec is None else spec.type
    argument = argument_of(name, kind)
    return Field(
        name=name,
        title=titled(name),
        spec=spec,
        value=shown(name, value),
        argument=argument,
        hint=_hint(kind, argument, spec),
    )


def _hint(kind: FieldType, argument: str | None, spec: FieldSpec | None) -> str:
    if argument is not None and argument.endswith(":cents"):
        return _AMOUNT
    return _PERSON if spec is not None and spec.names_beneficiary else _TYPED[kind]
