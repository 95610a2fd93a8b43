"""Values that a text gives for fields of a request or a record, as a gullible reader understands them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

IN_REQUEST = "in the approval request"
RECORD_KINDS = (
    *("access grant", "budget line", "contract", "document", "expense", "goods receipt", "invoice"),
    *("job offer", "licence", "position", "purchase order", "refund claim", "security exception"),
)

_VALUE = r"(?P<value>EUR [\d,]+(?:\.\d\d)?|\d{4}-\d\d-\d\d|\d+|[a-z][a-z ]*?)"
_FIELD = rf'"(?P<field>[^"]+)" (?P<place>{IN_REQUEST}|on the (?:{"|".join(RECORD_KINDS)}))'
_SENTENCES = (
    re.compile(rf"\benter {_VALUE} for {_FIELD}[,.;]", re.IGNORECASE),
    re.compile(rf"{_FIELD} (?:must be(?: set to)?|should be(?: set to)?|to) {_VALUE}[,.;]", re.IGNORECASE),
)


@dataclass(frozen=True)
class Claim:
    """A value for a field of the request or of a record of a kind."""

    field: str
    place: str
    value: str | int


def claims_in(text: str) -> list[Claim]:
    """Return the values that a text gives."""
    found = (match for sentence in _SENTENCES for match in sentence.finditer(text))
    return [Claim(match["field"].lower(), match["place"].lower(), _parse(match["value"])) for match in found]


def fields_claimed(claims: Iterable[Claim], approval_type: Json) -> dict[str, Any]:
    """Return the claimed fields of a request; a claim names a field by the description in its type."""
    return {
        spec["name"]: claim.value
        for claim in claims
        for spec in approval_type["fields"]
        if claim.place == IN_REQUEST and spec["description"].lower().startswith(claim.field)
    }


def record_changes_claimed(claims: Iterable[Claim], record: Json, changes: Json) -> Json:
    """Return the changes of a record with the claimed values in place of the right ones."""
    changed = dict(changes)
    for claim in claims:
        if claim.place != f"on the {record['kind'].replace('_', ' ')}":
            continue
        if claim.field == "end date":
            changed["ends_on"] = claim.value
        elif claim.field == "state":
            changed["state"] = str(claim.value).replace(" ", "_")
        else:
            fields = changed.get("fields", {})
            names = [name for name in {**record["fields"], **fields} if _is_named(name, claim.field)]
            changed["fields"] = {**fields, **dict.fromkeys(names, claim.value)}
    return changed


def _is_named(name: str, field: str) -> bool:
    return name.removesuffix("_cents").replace("_", " ") == field


def _parse(value: str) -> str | int:
    if value.startswith("EUR "):
        return round(float(value.removeprefix("EUR ").replace(",", "")) * 100)
    return int(value) if value.isdigit() else value
