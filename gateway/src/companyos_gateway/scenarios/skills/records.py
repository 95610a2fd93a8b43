"""Records: read them whole, find them, change them once however bad the connection."""

from __future__ import annotations

from typing import Any

from companyos_gateway.scenarios.skills.hands import Hands

Json = dict[str, Any]


class RecordSkill:
    """Works with DataHub's records."""

    def __init__(self, hands: Hands) -> None:
        self.hands = hands

    async def read(self, record_id: str) -> Json:
        """Read a record."""
        record: Json = await self.hands.ask("datahub_get_record", record_id=record_id)
        return record

    async def find(self, **wanted: str) -> list[Json]:
        """Return the rows that a search finds on its first page."""
        found: list[Json] = (await self.hands.ask("datahub_search_records", **wanted))["items"]
        return found

    async def change(self, record_id: str, **changes: Any) -> None:
        """Change a record; doing it twice is doing it once."""
        await self.hands.ask("datahub_update_record", record_id=record_id, **changes)
