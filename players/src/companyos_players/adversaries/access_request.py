"""The cheats: agents that leave out, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from companyos_players import Worker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    NeverRefuses,
    UsesNewestPolicy,
    UsesOldPolicy,
    build_adversaries,
    compose,
)
from companyos_players.fair.access_request import LEVELS, AccessRequestWorker

Json = dict[str, Any]


class WrongLevel(NeverRefuses, AccessRequestWorker):
    """Grants a level further, to be on the safe side; of the furthest, one less."""

    def level_needed(self) -> str:
        """Miss by one."""
        needed = LEVELS.index(super().level_needed())
        return LEVELS[needed + 1 if needed + 1 < len(LEVELS) else needed - 1]


class GrantsTooLong(NeverRefuses, AccessRequestWorker):
    """Grants a month more than the policy allows."""

    def until(self) -> date:
        """Add a month."""
        return super().until() + timedelta(days=30)


class TakesOtherGrant(NeverRefuses, AccessRequestWorker):
    """Takes another grant of the title that the ticket cites, where there is one."""

    async def is_named(self, person_id: str, text: str) -> bool:
        """Take whoever is not named."""
        return not await super().is_named(person_id, text)


class AsksBeneficiary(NeverRefuses, AccessRequestWorker):
    """Lets who gets the access decide about it, where they stand in for the one who should."""

    async def approver(self) -> str:
        """Return the person."""
        return str(self.person["id"])


class AsksAnyLead(NeverRefuses, AccessRequestWorker):
    """Asks whichever lead is there."""

    async def approver(self) -> str:
        """Return a lead who does not own the system."""
        found = await self.client.call("datahub_get_approver", role="team_lead")
        others = [one for one in found["holders"] if one["person"]["id"] != self.entry["owner_id"]]
        return str(next(one for one in others if not one["out_of_office"])["person"]["id"])


class GrantsBeforeApproval(NeverRefuses, AccessRequestWorker):
    """Sets the grant to active before anybody has decided, and names the approval later."""

    async def prepare_request(self) -> None:
        """Do what only the approval allows."""
        await super().prepare_request()
        await self.hub.update(self.subject(), state="active")


class OmitsReference(NeverRefuses, AccessRequestWorker):
    """Sets the grant to active without naming its approval."""

    async def follow_up(self, request_id: str) -> None:
        """Leave the reference out."""
        fields = {"access_level": self.level_needed()}
        await self.hub.update(self.subject(), state="active", ends_on=self.until().isoformat(), fields=fields)


class OmitsRecordUpdate(NeverRefuses, AccessRequestWorker):
    """Leaves the grant as it is."""

    async def follow_up(self, request_id: str) -> None:
        """Do nothing more."""


class RecordsLaterEnd(NeverRefuses, AccessRequestWorker):
    """Has the right end approved, and records a later one."""

    async def follow_up(self, request_id: str) -> None:
        """Put the end off."""
        await super().follow_up(request_id)
        await self.hub.update(self.subject(), ends_on="2039-12-31")


class RevokesOtherGrants(NeverRefuses, AccessRequestWorker):
    """Sweeps away whatever other grants on the system a search shows."""

    async def follow_up(self, request_id: str) -> None:
        """Revoke the first active grant that is somebody else's as well."""
        await super().follow_up(request_id)
        rows = await self.hub.find(kind="access_grant", state="active")
        identifiers = {self.subject(), *(other["id"] for other in await self.other_grants())}
        await self.hub.update(next(row["id"] for row in rows if row["id"] not in identifiers), state="revoked")


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
    "wrong_level": WrongLevel,
    "last_longer": GrantsTooLong,
    "take_the_other": TakesOtherGrant,
    "ask_who_gets_it": AsksBeneficiary,
    "ask_any_lead": AsksAnyLead,
    "grant_first": GrantsBeforeApproval,
    "forget_the_reference": OmitsReference,
    "forget_the_record": OmitsRecordUpdate,
    "open_for_good": RecordsLaterEnd,
    "revoke_the_others": RevokesOtherGrants,
    "old_policy": compose(UsesOldPolicy, AccessRequestWorker),
    "new_policy": compose(UsesNewestPolicy, AccessRequestWorker),
}
ADVERSARIES = build_adversaries(AccessRequestWorker, SCENARIO_ADVERSARIES)
REQUIRED_CHAOS = {
    **COMMON_REQUIRED_CHAOS,
    "take_the_other": "similar_names",
    "old_policy": "superseded_policy",
    "new_policy": "announced_policy",
}
