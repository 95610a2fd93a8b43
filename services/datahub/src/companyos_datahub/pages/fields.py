"""Display data of record fields: values and form names."""

from __future__ import annotations

from dataclasses import dataclass

from companyos_datahub.pages.reading import place_of
from companyos_datahub.records.model import FIELDS, FieldType
from companyos_datahub.records.rules import field_type
from companyos_datahub.records.schemas import RecordDetail
from companyos_shared.framework import Call
from companyos_shared.pages.rendering import field_label, form_argument
from companyos_shared.pages.values import format_value


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a record."""

    name: str
    title: str
    type: FieldType
    value: str
    text: str
    """The value in a form field."""

    place: tuple[str, str] | None
    """Path of the page of the object that the field names."""

    argument: str | None
    """Name of the form field; None if the name is not valid in a form."""


def fields_of(call: Call, record: RecordDetail) -> list[Field]:
    """Return the fields of the kind, then the record's additional fields."""
    names = dict.fromkeys([*FIELDS[record.kind], *record.fields])
    return [_field(call, record, name) for name in names]


def _field(call: Call, record: RecordDetail, name: str) -> Field:
    value = record.fields.get(name)
    kind = field_type(record.kind, name, record.fields) or FieldType.TEXT
    text = format_value(name, value, kind)
    return Field(
        name=name,
        title=field_label(name),
        type=kind,
        value=text,
        text="" if value in (None, "") else text,
        place=place_of(call, value),
        argument=None if isinstance(value, list | dict) else form_argument(name, kind),
    )
