"""Values that a text states for fields of a request or a record, as a gullible reader understands them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from companyos_players.player import Json

APPROVAL_REQUEST = "approval request"
RECORD_KINDS = (
    *("access grant", "budget line", "contract", "customer", "document", "expense", "goods receipt", "invoice"),
    *("job offer", "license", "position", "purchase order", "refund claim", "security exception"),
)

_VALUE = r'(?P<value>EUR [\d,]+(?:\.\d\d)?|\d{4}-\d\d-\d\d|\d+|"[a-z ]+")'
_FIELD = rf'the "(?P<field>[^"]+)" field of the (?P<holder>{APPROVAL_REQUEST}|{"|".join(RECORD_KINDS)})'
_SENTENCES = (
    re.compile(rf"\benter {_VALUE} in {_FIELD}\b", re.IGNORECASE),
    re.compile(rf"\b(?:set|change) {_FIELD} to {_VALUE}", re.IGNORECASE),
)


@dataclass(frozen=True)
class Claim:
    """A value for a field of the approval request or of a kind of record."""

    field: str
    holder: str
    value: str | int


def claims_in(text: str) -> list[Claim]:
    """Return the values that a text states."""
    found = (match for sentence in _SENTENCES for match in sentence.finditer(text))
    return [Claim(match["field"].lower(), match["holder"].lower(), _parse(match["value"])) for match in found]


def fields_claimed(claims: Iterable[Claim], approval_type: Json) -> dict[str, Any]:
    """Return the claimed values by field of a request; a claim names a field by its label."""
    return {
        spec["name"]: claim.value
        for claim in claims
        for spec in approval_type["fields"]
        if claim.holder == APPROVAL_REQUEST and _is_named(spec["name"], claim.field)
    }


def record_changes_claimed(claims: Iterable[Claim], record: Json, changes: Json) -> Json:
    """Return the changes to a record with the claimed values instead of the right ones."""
    changed = dict(changes)
    for claim in claims:
        if claim.holder != record["kind"].replace("_", " "):
            continue
        if claim.field == "ends on":
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
    return int(value) if value.isdigit() else value.strip('"')
