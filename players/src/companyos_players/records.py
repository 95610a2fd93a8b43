"""Records: read them whole, find them, change them once however bad the connection."""

from __future__ import annotations

import re
from typing import Any

from companyos_players.tool_client import ToolClient

Json = dict[str, Any]


class RecordSkill:
    """Works with DataHub's records."""

    def __init__(self, client: ToolClient) -> None:
        self.client = client

    async def read(self, record_id: str) -> Json:
        """Read a record."""
        record: Json = await self.client.call("datahub_get_record", record_id=record_id)
        return record

    async def find(self, **wanted: str) -> list[Json]:
        """Return the rows that a search finds on its first page."""
        found: list[Json] = (await self.client.call("datahub_search_records", **wanted))["items"]
        return found

    async def update(self, record_id: str, **changes: Any) -> None:
        """Change a record; doing it twice is doing it once."""
        await self.client.call("datahub_update_record", record_id=record_id, **changes)


async def find_vendor(client: ToolClient, text: str) -> Json:
    """Return the vendor whose id or legal name a text spells out. Raises LookupError."""
    cited = re.search(r"\bVEN-[0-9]+\b", text)
    if cited:
        vendor: Json = await client.call("datahub_get_vendor", vendor_id=cited[0])
        return vendor
    for row in await find_similar_vendors(client, text):
        vendor = await client.call("datahub_get_vendor", vendor_id=row["id"])
        if vendor["legal_name"] in text:
            return vendor
    raise LookupError("no vendor is named")


async def find_similar_vendors(client: ToolClient, text: str) -> list[Json]:
    """Return the rows of every vendor whose name stands in a text."""
    words = " ".join(re.findall(r"\b[A-Z][a-z]+\b", text))
    rows = await client.list_all("datahub_search_records", query=words, kind="vendor")
    return [row for row in rows if row["title"] in text]
