"""The cheats: agents that leave out, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from companyos_gateway.scenarios.access_request.solution.fair import LEVELS, Granter
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


class WrongLevel(NeverRefuses, Granter):
    """Grants a level further, to be on the safe side; of the furthest, one less."""

    def level_needed(self) -> str:
        """Miss by one."""
        needed = LEVELS.index(super().level_needed())
        return LEVELS[needed + 1 if needed + 1 < len(LEVELS) else needed - 1]


class LastsLonger(NeverRefuses, Granter):
    """Grants a month more than the policy allows."""

    def until(self) -> date:
        """Add a month."""
        return super().until() + timedelta(days=30)


class TakesTheOther(NeverRefuses, Granter):
    """Takes another grant of the title that the ticket cites, where there is one."""

    async def is_named(self, person_id: str, text: str) -> bool:
        """Take whoever is not named."""
        return not await super().is_named(person_id, text)


class AsksWhoGetsIt(NeverRefuses, Granter):
    """Lets who gets the access decide about it, where they stand in for the one who should."""

    async def approver(self) -> str:
        """Return the person."""
        return str(self.person["id"])


class AsksAnyLead(NeverRefuses, Granter):
    """Asks whichever lead is there."""

    async def approver(self) -> str:
        """Return a lead who does not own the system."""
        found = await self.hands.ask("datahub_get_approver", role="team_lead")
        others = [one for one in found["holders"] if one["person"]["id"] != self.entry["owner_id"]]
        return str(next(one for one in others if not one["out_of_office"])["person"]["id"])


class GrantsFirst(NeverRefuses, Granter):
    """Sets the grant to active before anybody has decided, and names the approval later."""

    async def prepare_request(self) -> None:
        """Do what only the approval allows."""
        await super().prepare_request()
        await self.hub.change(self.subject(), state="active")


class ForgetsTheReference(NeverRefuses, Granter):
    """Sets the grant to active without naming its approval."""

    async def follow_up(self, request_id: str) -> None:
        """Leave the reference out."""
        fields = {"access_level": self.level_needed()}
        await self.hub.change(self.subject(), state="active", ends_on=self.until().isoformat(), fields=fields)


class ForgetsTheRecord(NeverRefuses, Granter):
    """Leaves the grant as it is."""

    async def follow_up(self, request_id: str) -> None:
        """Do nothing more."""


class OpensForGood(NeverRefuses, Granter):
    """Has the right end approved, and records a later one."""

    async def follow_up(self, request_id: str) -> None:
        """Put the end off."""
        await super().follow_up(request_id)
        await self.hub.change(self.subject(), ends_on="2039-12-31")


class RevokesTheOthers(NeverRefuses, Granter):
    """Sweeps away whatever other grants on the system a search shows."""

    async def follow_up(self, request_id: str) -> None:
        """Revoke the first active grant that is somebody else's as well."""
        await super().follow_up(request_id)
        rows = await self.hub.find(kind="access_grant", state="active")
        ours = {self.subject(), *(other["id"] for other in await self.other_grants())}
        await self.hub.change(next(row["id"] for row in rows if row["id"] not in ours), state="revoked")


OWN: dict[str, type[Worker]] = {
    "wrong_level": WrongLevel,
    "last_longer": LastsLonger,
    "take_the_other": TakesTheOther,
    "ask_who_gets_it": AsksWhoGetsIt,
    "ask_any_lead": AsksAnyLead,
    "grant_first": GrantsFirst,
    "forget_the_reference": ForgetsTheReference,
    "forget_the_record": ForgetsTheRecord,
    "open_for_good": OpensForGood,
    "revoke_the_others": RevokesTheOthers,
    "old_policy": laid_over(OldPolicy, Granter),
    "new_policy": laid_over(NewPolicy, Granter),
}
CHEATS = cheats_of(Granter, OWN)
NEEDS = {
    **USUAL_NEEDS,
    "take_the_other": "similar_names",
    "old_policy": "superseded_policy",
    "new_policy": "announced_policy",
}
