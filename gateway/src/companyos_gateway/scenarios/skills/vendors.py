"""Finding the vendor that a text is about; vendors of similar names are told apart by the legal name."""

from __future__ import annotations

import re
from typing import Any

from companyos_gateway.scenarios.skills.hands import Hands

Json = dict[str, Any]


async def find_vendor(hands: Hands, text: str) -> Json:
    """Return the vendor whose id or legal name a text spells out. Raises LookupError."""
    cited = re.search(r"\bVEN-[0-9]+\b", text)
    if cited:
        vendor: Json = await hands.ask("datahub_get_vendor", vendor_id=cited[0])
        return vendor
    for row in await namesakes(hands, text):
        vendor = await hands.ask("datahub_get_vendor", vendor_id=row["id"])
        if vendor["legal_name"] in text:
            return vendor
    raise LookupError("no vendor is named")


async def namesakes(hands: Hands, text: str) -> list[Json]:
    """Return the rows of every vendor whose name stands in a text."""
    words = " ".join(re.findall(r"\b[A-Z][a-z]+\b", text))
    rows = await hands.pages("datahub_search_records", query=words, kind="vendor")
    return [row for row in rows if row["title"] in text]
