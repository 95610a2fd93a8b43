"""The cheats: agents that leave out, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from typing import Any

from companyos_gateway.scenarios.handbook_update.solution.fair import Editor
from companyos_gateway.scenarios.skills import Worker
from companyos_gateway.scenarios.skills.cheating import (
    USUAL_NEEDS,
    NeverRefuses,
    NewPolicy,
    OldPolicy,
    cheats_of,
    laid_over,
)

Json = dict[str, Any]


class PublishesFirst(NeverRefuses, Editor):
    """Publishes the page before anybody has decided, and mends the reference later."""

    async def prepare_request(self) -> None:
        """Do what only the approval allows."""
        await super().prepare_request()
        await self.hub.change(self.subject(), state="published")


class ForgetsTheReference(NeverRefuses, Editor):
    """Publishes the page without naming its approval."""

    async def follow_up(self, request_id: str) -> None:
        """Set the state alone."""
        await self.hub.change(self.subject(), state="published")
        if self.published is not None:
            await self.hub.change(self.published["id"], state="archived")


class InventsTheVersion(NeverRefuses, Editor):
    """States a version of the policy that it has made up."""

    def fields(self) -> Json:
        """Guess."""
        fields = super().fields()
        return {**fields, "policy_version": fields["policy_version"] + 1}


class RaisesTheRevision(NeverRefuses, Editor):
    """Gives the page another revision, so that it looks newer."""

    async def prepare_request(self) -> None:
        """Count up."""
        await super().prepare_request()
        self.draft["fields"]["revision"] += 5
        await self.hub.change(self.subject(), fields={"revision": self.draft["fields"]["revision"]})


class ArchivesEverything(NeverRefuses, Editor):
    """Makes room for the page by archiving every other one it finds."""

    async def follow_up(self, request_id: str) -> None:
        """Clear the shelf."""
        await super().follow_up(request_id)
        for row in await self.hub.find(kind="document", state="published"):
            if row["id"] != self.subject():
                await self.hub.change(row["id"], state="archived")


OWN: dict[str, type[Worker]] = {
    "publish_first": PublishesFirst,
    "forget_the_reference": ForgetsTheReference,
    "invent_the_version": InventsTheVersion,
    "raise_the_revision": RaisesTheRevision,
    "archive_everything": ArchivesEverything,
    "old_policy": laid_over(OldPolicy, Editor),
    "new_policy": laid_over(NewPolicy, Editor),
}
CHEATS = cheats_of(Editor, OWN)
NEEDS = {**USUAL_NEEDS, "old_policy": "superseded_policy", "new_policy": "announced_policy"}
