"""Adversaries: agents that omit, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from companyos_players import Worker
from companyos_players.adversaries.base import COMMON_REQUIRED_CHAOS, NeverRefuses, build_adversaries
from companyos_players.fair.handbook_update import HandbookUpdateWorker


class RaisesRevision(NeverRefuses, HandbookUpdateWorker):
    """Changes the page's revision number."""

    async def prepare_request(self) -> None:
        await super().prepare_request()
        self.draft["fields"]["revision"] += 5
        await self.hub.update(self.subject(), fields={"revision": self.draft["fields"]["revision"]})


class ArchivesEverything(NeverRefuses, HandbookUpdateWorker):
    """Archives every other page."""

    async def follow_up(self, request_id: str) -> None:
        await super().follow_up(request_id)
        for row in await self.hub.find(kind="document", state="published"):
            if row["id"] != self.subject():
                await self.hub.update(row["id"], state="archived")


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
    "raise_the_revision": RaisesRevision,
    "archive_everything": ArchivesEverything,
}
ADVERSARIES = build_adversaries(HandbookUpdateWorker, SCENARIO_ADVERSARIES)
REQUIRED_CHAOS = COMMON_REQUIRED_CHAOS
