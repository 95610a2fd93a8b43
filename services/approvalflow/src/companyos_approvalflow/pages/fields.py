"""Display data of type and request fields: labels, values, form names and hints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from companyos_approvalflow.approval_types.model import ApprovalType, FieldSpec, FieldType
from companyos_shared.pages.rendering import field_label, form_argument
from companyos_shared.pages.values import format_value

_TYPED = {
    FieldType.TEXT: "",
    FieldType.NUMBER: "A number.",
    FieldType.INTEGER: "A whole number.",
    FieldType.BOOLEAN: "",
    FieldType.DATETIME: "UTC, such as 2 Mar 2026, 08:40.",
    FieldType.DATE: "Such as 31 Mar 2026.",
}
_AMOUNT = "Such as 1,250.00."


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a type, or an additional field of a request."""

    name: str
    title: str
    spec: FieldSpec | None
    """None for a field that is not part of the type."""

    value: str
    text: str
    """The value in a form field."""

    argument: str | None
    """Name of the form field; None if the name is not valid in a form."""

    hint: str
    """Input format."""


def specs_of(of: ApprovalType) -> list[Field]:
    """Return the fields of a type without values."""
    return fields_of(of, {})


def fields_of(of: ApprovalType, values: Mapping[str, Any]) -> list[Field]:
    """Return the fields of a type with their values in a request, then the request's additional fields."""
    specs = {spec.name: spec for spec in of.fields}
    return [_field(name, specs.get(name), values.get(name)) for name in dict.fromkeys([*specs, *values])]


def _field(name: str, spec: FieldSpec | None, value: object) -> Field:
    kind = FieldType.TEXT if spec is None else spec.type
    argument = None if isinstance(value, list | dict) else form_argument(name, kind)
    text = format_value(name, value, kind)
    return Field(
        name=name,
        title=field_label(name),
        spec=spec,
        value=text,
        text="" if value in (None, "") else text,
        argument=argument,
        hint=_hint(kind, argument),
    )


def _hint(kind: FieldType, argument: str | None) -> str:
    return _AMOUNT if argument is not None and argument.endswith(":cents") else _TYPED[kind]
