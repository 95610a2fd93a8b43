"""The fields of a record on its page: what they hold, and how the form calls them."""

from __future__ import annotations

from dataclasses import dataclass

from companyos_datahub.pages.reading import place_of
from companyos_datahub.records.model import FIELDS, FieldType
from companyos_datahub.records.rules import field_type
from companyos_datahub.records.schemas import RecordDetail
from companyos_shared.chassis import Call
from companyos_shared.pages.fields import argument_of, shown, titled


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a record."""

    name: str
    title: str
    type: FieldType
    value: str
    place: tuple[str, str] | None
    """The page of what the field names."""

    argument: str | None
    """What the field is called in a form; None where its name is none that a form has."""


def fields_of(call: Call, record: RecordDetail) -> list[Field]:
    """Return the fields that the kind knows, then those that the record alone has."""
    names = dict.fromkeys([*FIELDS[record.kind], *record.fields])
    return [_field(call, record, name) for name in names]


def _field(call: Call, record: RecordDetail, name: str) -> Field:
    value = record.fields.get(name)
    kind = field_type(record.kind, name, record.fields) or FieldType.TEXT
    return Field(
        name=name,
        title=titled(name),
        type=kind,
        value=shown(name, value),
        place=place_of(call, value),
        argument=argument_of(name, kind),
    )
