"""The players of handbook updates: the fair oracle, and adversaries that omit, invent or overdo something."""

from __future__ import annotations

import re

from companyos_players import Json, Objection, Worker
from companyos_players.adversaries.base import COMMON_REQUIRED_CHAOS, NeverRefuses, build_adversaries


class HandbookUpdateWorker(Worker):
    """Handles one handbook update. Adversaries override single methods."""

    type_words = "publication"
    justification = "The page agrees with the policy it quotes, in the version in force."

    async def investigate(self) -> None:
        """Find the draft, the policy it quotes, and the published page."""
        self.draft = await self.find_draft()
        self.rule: Json = await self.read_rule()
        self.published = await self.find_published()

    async def read_rule(self) -> Json:
        """Read the quoted policy in the version in force."""
        rule: Json = await self.client.call("datahub_get_policy", policy_id=self.draft["fields"]["policy_ref"])
        return rule

    async def find_draft(self) -> Json:
        """Return the draft cited by id, or by title and revision."""
        text = self.ticket.known["description"]
        cited = re.search(r"\bDOC-[0-9]+\b", text)
        if cited:
            return await self.hub.read(cited[0])
        title, revision = re.search(r'"([^"]+)"', text), re.search(r"[Rr]evision ([0-9]+)", text)
        assert title is not None
        assert revision is not None
        for row in await self.hub.find_titled(title[1], kind="document", state="draft"):
            draft = await self.hub.read(row["id"])
            if draft["fields"]["revision"] == int(revision[1]):
                return draft
        raise LookupError(f"No draft is cited in {text!r}")

    async def find_published(self) -> Json | None:
        """Return the published page with the same title."""
        rows = await self.hub.find_titled(self.draft["title"], kind="document", state="published")
        return await self.hub.read(rows[0]["id"]) if rows else None

    async def objection(self) -> Objection | None:
        """Object to an outdated page, a wrong class, or a missing consent."""
        policy, figures, fields = self.policy["policy_id"], self.policy["parameters"], self.draft["fields"]
        if self.published and self.published["fields"]["revision"] >= fields["revision"]:
            return Objection("duplicate", self.published["id"], "A later revision is published.")
        if fields["classification"] != figures["publishable_class"]:
            return Objection("not_entitled", policy, "A page of this class is not published.")
        if fields["readers"] >= figures["consent_from_readers"] and "consent_ref" not in fields:
            return Objection("requirement_not_met", policy, "The works council has not consented.")
        return None

    async def answer(self, question: str) -> str:
        """Answer with the revision of the draft or its number of readers."""
        fields = self.draft["fields"]
        if "revision" in question:
            return f"Revision {fields['revision']} of the page is to be published."
        return f"The draft names {fields['readers']} readers."

    def identifiers(self) -> tuple[str, ...]:
        return self.draft["id"], self.draft["title"]

    def priority(self) -> str:
        return self.level(self.draft["fields"]["readers"])

    def subject(self) -> str:
        return str(self.draft["id"])

    async def prepare_request(self) -> None:
        """Correct the draft's quotation."""
        expected = {**self.rule["parameters"], "policy_version": self.rule["version"]}
        wrong = {name: value for name, value in expected.items() if self.draft["fields"].get(name) != value}
        if wrong:
            await self.hub.update(self.subject(), fields=wrong)
            self.draft["fields"] |= wrong

    def fields(self) -> Json:
        return {
            "document_id": self.subject(),
            "revision": self.draft["fields"]["revision"],
            "policy_id": self.rule["policy_id"],
            "policy_version": self.rule["version"],
        }

    async def follow_up(self, request_id: str) -> None:
        """Publish the page, and archive the previous one."""
        await self.hub.update(self.subject(), state="published", fields={"approval_ref": request_id})
        if self.published is not None:
            await self.hub.update(self.published["id"], state="archived")


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


play = HandbookUpdateWorker.play
WORKER = HandbookUpdateWorker
ADVERSARIES = build_adversaries(
    HandbookUpdateWorker,
    {
        "raise_the_revision": RaisesRevision,
        "archive_everything": ArchivesEverything,
    },
)
REQUIRED_CHAOS = COMMON_REQUIRED_CHAOS
