"""The fields of a record on its page: what they hold, and how the form calls them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from pydantic import JsonValue

from companyos_datahub.pages.reading import place_of
from companyos_datahub.records.model import FIELDS, FieldType
from companyos_datahub.records.rules import field_type
from companyos_datahub.records.schemas import RecordDetail
from companyos_shared.chassis import Call
from companyos_shared.pages.writing import label, money

_CENTS = "_cents"
_NAME = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
_SUFFIX = {FieldType.INTEGER: ":int", FieldType.NUMBER: ":number", FieldType.BOOLEAN: ":flag"}


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


def shown(name: str, value: JsonValue) -> str:
    """Return a value as people read it; amounts in cents with their two decimals."""
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, int) and name.endswith(_CENTS):
        return money(value)
    return json.dumps(value) if isinstance(value, list | dict) else str(value)


def titled(name: str) -> str:
    """Return the name of a field in words; that an amount is kept in cents is left out."""
    return label(name.removesuffix(_CENTS))


def _field(call: Call, record: RecordDetail, name: str) -> Field:
    value = record.fields.get(name)
    kind = field_type(record.kind, name, record.fields) or FieldType.TEXT
    return Field(
        name=name,
        title=titled(name),
        type=kind,
        value=shown(name, value),
        place=place_of(call, value),
        argument=f"fields.{name}{_suffix(name, kind)}" if _NAME.fullmatch(name) else None,
    )


def _suffix(name: str, kind: FieldType) -> str:
    is_amount = name.endswith(_CENTS) and kind in (FieldType.INTEGER, FieldType.NUMBER)
    return ":cents" if is_amount else _SUFFIX.get(kind, "")
