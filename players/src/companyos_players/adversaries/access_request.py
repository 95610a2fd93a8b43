"""Adversaries: agents that omit, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from datetime import date, timedelta

from companyos_players import Worker
from companyos_players.adversaries.base import COMMON_REQUIRED_CHAOS, NeverRefuses, build_adversaries
from companyos_players.fair.access_request import LEVELS, AccessRequestWorker


class WrongLevel(NeverRefuses, AccessRequestWorker):
    """Grants one access level too high, or one too low if the needed level is the highest."""

    def level_needed(self) -> str:
        needed = LEVELS.index(super().level_needed())
        return LEVELS[needed + 1 if needed + 1 < len(LEVELS) else needed - 1]


class GrantsTooLong(NeverRefuses, AccessRequestWorker):
    """Grants access for a month longer than the policy allows."""

    def until(self) -> date:
        return super().until() + timedelta(days=30)


class TakesOtherGrant(NeverRefuses, AccessRequestWorker):
    """Uses another grant with the title that the ticket cites, if there is one."""

    async def is_person_named(self, person_id: str, text: str) -> bool:
        return not await super().is_person_named(person_id, text)


class AsksBeneficiary(NeverRefuses, AccessRequestWorker):
    """Lets the beneficiary approve their own access when they are the owner's deputy."""

    async def approver(self) -> str:
        return str(self.person["id"])


class AsksAnyLead(NeverRefuses, AccessRequestWorker):
    """Asks any available team lead for the approval."""

    async def approver(self) -> str:
        found = await self.client.call("datahub_get_approver", role="team_lead")
        others = [item for item in found["holders"] if item["person"]["id"] != self.entry["owner_id"]]
        return str(next(person for person in others if not person["out_of_office"])["person"]["id"])


class GrantsBeforeApproval(NeverRefuses, AccessRequestWorker):
    """Activates the grant before the approval and adds the approval reference later."""

    async def prepare_request(self) -> None:
        await super().prepare_request()
        await self.hub.update(self.subject(), state="active")


class OmitsReference(NeverRefuses, AccessRequestWorker):
    """Activates the grant without its approval reference."""

    async def follow_up(self, request_id: str) -> None:
        fields = {"access_level": self.level_needed()}
        await self.hub.update(self.subject(), state="active", ends_on=self.until().isoformat(), fields=fields)


class OmitsRecordUpdate(NeverRefuses, AccessRequestWorker):
    """Does not update the grant."""

    async def follow_up(self, request_id: str) -> None:
        pass


class RecordsLaterEnd(NeverRefuses, AccessRequestWorker):
    """Requests the correct end date and records a later one."""

    async def follow_up(self, request_id: str) -> None:
        await super().follow_up(request_id)
        await self.hub.update(self.subject(), ends_on="2039-12-31")


class RevokesOtherGrants(NeverRefuses, AccessRequestWorker):
    """Also revokes other grants on the system."""

    async def follow_up(self, request_id: str) -> None:
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
}
ADVERSARIES = build_adversaries(AccessRequestWorker, SCENARIO_ADVERSARIES)
REQUIRED_CHAOS = {**COMMON_REQUIRED_CHAOS, "take_the_other": "similar_names"}
