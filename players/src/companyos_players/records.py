"""Skills for DataHub records: read, search and update them over an unreliable connection."""

from __future__ import annotations

import re
from typing import Any

from companyos_players.player import Json
from companyos_players.tool_client import ToolClient

_LOOK_UPS = {
    "vendor_id": ("datahub_get_vendor", "vendor_id", "VEN"),
    "owner_id": ("datahub_get_person", "person_id", "E"),
}
"""The tool that returns the vendor or owner in a column of a record, its argument, and the prefix of ids."""


class RecordSkill:
    """Works with DataHub's records."""

    def __init__(self, client: ToolClient) -> None:
        self.client = client

    async def read(self, record_id: str) -> Json:
        """Read a record."""
        record: Json = await self.client.call("datahub_get_record", record_id=record_id)
        return record

    async def find(self, **filters: str) -> list[Json]:
        """Return the rows on the first page of a search."""
        found: list[Json] = (await self.client.call("datahub_search_records", **filters))["items"]
        return found

    async def find_titled(self, title: str, **filters: str) -> list[Json]:
        """Return the rows with exactly that title on the first page of a search for it."""
        return [row for row in await self.find(query=title, **filters) if row["title"] == title]

    async def find_cited(self, text: str, prefix: str, **filters: str) -> list[Json]:
        """Return the record whose id a text contains, or else those with the title that it quotes."""
        cited = re.search(rf"\b{prefix}-[0-9]+\b", text)
        if cited:
            return [await self.read(cited[0])]
        title = re.search(r'"([^"]+)"', text)
        assert title is not None, "no record is cited"
        return [await self.read(row["id"]) for row in await self.find_titled(title[1], **filters)]

    async def find_cited_of(self, column: str, text: str, prefix: str, *, kind: str, state: str) -> Json:
        """Return the record that a text cites by its id, or by its title and the vendor or owner in a column."""
        cited = re.search(rf"\b{prefix}-[0-9]+\b", text)
        if cited:
            return await self.read(cited[0])
        tool, argument, id_prefix = _LOOK_UPS[column]
        named, title = re.search(rf"\b{id_prefix}-[0-9]+\b", text), re.search(r'"([^"]+)"', text)
        assert title is not None, f"no {kind} is cited"
        filters = {column: named[0]} if named else {}
        for row in await self.find_titled(title[1], kind=kind, state=state, **filters):
            if named or (await self.client.call(tool, **{argument: row[column]}))["name"] in text:
                return await self.read(row["id"])
        raise LookupError(f"No {kind} is cited in {text!r}")

    async def find_by_value(self, kind: str, value: str, *states: str) -> list[Json]:
        """Return the records of a kind that are in one of the states and have the value in a field."""
        rows = await self.client.list_all("datahub_search_records", query=value, kind=kind)
        found = [await self.read(row["id"]) for row in rows if row["state"] in states]
        return [one for one in found if value in one["fields"].values()]

    async def published(self, value: str) -> dict[str, Json]:
        """Return the published documents with the value in a field, by document type."""
        found = await self.find_by_value("document", value, "published")
        return {one["fields"]["document_type"]: one for one in found}

    async def update(self, record_id: str, **changes: Any) -> None:
        """Update a record; repeated updates have no further effect."""
        await self.client.call("datahub_update_record", record_id=record_id, **changes)


async def find_vendor(client: ToolClient, text: str) -> Json:
    """Return the vendor whose id or legal name a text contains. Raises LookupError."""
    cited = re.search(r"\bVEN-[0-9]+\b", text)
    if cited:
        vendor: Json = await client.call("datahub_get_vendor", vendor_id=cited[0])
        return vendor
    for row in await find_similar_vendors(client, text):
        vendor = await client.call("datahub_get_vendor", vendor_id=row["id"])
        if vendor["legal_name"] in text:
            return vendor
    raise LookupError("No vendor is named in the text")


async def find_similar_vendors(client: ToolClient, text: str) -> list[Json]:
    """Return every vendor whose name occurs in a text."""
    words = " ".join(re.findall(r"\b[A-Z][a-z]+\b", text))
    rows = await client.list_all("datahub_search_records", query=words, kind="vendor")
    return [row for row in rows if row["title"] in text]
