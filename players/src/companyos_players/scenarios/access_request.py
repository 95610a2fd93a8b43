"""The players of access requests: the fair oracle, and adversaries that omit, invent or overdo something."""

from __future__ import annotations

from datetime import date, timedelta

from companyos_players import ApprovalSkill, Json, Objection, Worker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    NeverRefuses,
    OmitsRecordUpdate,
    TakesOtherRecord,
    build_adversaries,
    compose,
)

LEVELS = ("read", "write", "admin")
PRIVILEGED = "privileged"


class AccessRequestWorker(Worker):
    """Handles one access request. Adversaries override single methods."""

    type_words = "access grant"
    justification = "The level is the least that the purpose needs, and the end is within the policy."

    async def investigate(self) -> None:
        """Find the grant, the person and the system's register entry."""
        self.others: list[Json] | None = None
        self.grant = await self.find_cited("ACG", "person_id", kind="access_grant", state="requested")
        self.person = await self.look_up(self.grant["fields"]["person_id"])
        self.entry = await self.find_entry(self.grant["fields"]["system"])

    async def find_entry(self, system: str) -> Json:
        """Return the system's register entry."""
        for row in await self.hub.find(query=f"register {system}", kind="document"):
            if row["title"].endswith(f": {system}"):
                return await self.hub.read(row["id"])
        raise LookupError(f"System {system!r} is not in the register")

    async def other_grants(self) -> list[Json]:
        """Return the person's active grants (cached)."""
        if self.others is None:
            rows = await self.hub.find(query=self.person["id"], kind="access_grant", state="active")
            grants = [await self.hub.read(row["id"]) for row in rows]
            self.others = [grant for grant in grants if grant["fields"]["person_id"] == self.person["id"]]
        return self.others

    async def complete_ticket(self) -> None:
        """Complete the ticket, and choose the approval type."""
        await super().complete_ticket()
        self.approvals = await self.choose_type()
        self.approvals.excluded_ids.add(self.person["id"])

    async def choose_type(self) -> ApprovalSkill:
        """Choose the approval type: owner approval or privileged access."""
        if self.level_needed() != "admin" and self.entry["owner_id"] != self.person["id"]:
            self.approvals.only_holder = self.entry["owner_id"]
            return self.approvals
        return await self.find_approval_type(PRIVILEGED)

    async def answer(self, question: str) -> str:
        """Answer with the purpose of the grant or the class of the system."""
        if "purpose" in question:
            return f"The purpose of {self.grant['id']} is {self.grant['fields']['purpose']}."
        return f"The register shows the class {self.entry['fields']['class']}."

    async def objection(self) -> Objection | None:
        """Object to a departed or ineligible person, segregated systems, and existing access."""
        figures, policy_id, person = self.policy["parameters"], self.policy["policy_id"], self.person
        if person["employed_to"] is not None and person["employed_to"] < self.grant["starts_on"]:
            return Objection("requirement_not_met", person["id"], "They do not work here then.")
        is_restricted = self.entry["fields"]["class"] == "restricted"
        if is_restricted and person["team_name"] not in figures["admitted_teams"].split(", "):
            return Objection("not_entitled", policy_id, "Their team is not admitted to the system.")
        for other in await self.other_grants():
            if self.is_kept_apart(other["fields"]["system"]):
                return Objection("policy_violation", other["id"], "The systems are kept apart.")
            if self.is_covering(other):
                return Objection("duplicate", other["id"], "They have this already.")
        return None

    def is_kept_apart(self, system: str) -> bool:
        """Return whether the policy segregates the system from the requested one."""
        pair = set(self.policy["parameters"]["kept_apart"].split(" and "))
        return pair == {system, self.grant["fields"]["system"]}

    def is_covering(self, other: Json) -> bool:
        """Return whether an active grant already covers the requested one."""
        fields = other["fields"]
        reaches = LEVELS.index(fields["access_level"]) >= LEVELS.index(self.level_needed())
        lasts = date.fromisoformat(other["ends_on"]) >= self.until()
        return bool(fields["system"] == self.grant["fields"]["system"] and reaches and lasts)

    def level_needed(self) -> str:
        """Return the lowest level that the purpose needs."""
        purpose, figures = self.grant["fields"]["purpose"], self.policy["parameters"]
        return next(level for level in LEVELS if purpose in figures[f"{level}_for"].split(", "))

    def until(self) -> date:
        """Return the last day of the access."""
        longest = timedelta(days=self.policy["parameters"][f"longest_{self.level_needed()}_days"])
        starts_on, ends_on = (date.fromisoformat(self.grant[name]) for name in ("starts_on", "ends_on"))
        return min(ends_on, starts_on + longest)

    def identifiers(self) -> tuple[str, ...]:
        return self.grant["id"], self.grant["title"], self.person["id"], self.person["name"]

    def priority(self) -> str:
        """Return the priority for the system's class."""
        return str(self.policy["parameters"][f"{self.entry['fields']['class']}_priority"])

    def subject(self) -> str:
        return str(self.grant["id"])

    def fields(self) -> Json:
        return {
            "grant_id": self.subject(),
            "person_id": self.person["id"],
            "system": self.grant["fields"]["system"],
            "access_level": self.level_needed(),
            "until": self.until().isoformat(),
        }

    async def follow_up(self, request_id: str) -> None:
        """Record the grant, and revoke the one that it replaces."""
        fields = {"access_level": self.level_needed(), "approval_ref": request_id}
        await self.hub.update(self.subject(), state="active", ends_on=self.until().isoformat(), fields=fields)
        for other in await self.other_grants():
            if other["fields"]["system"] == self.grant["fields"]["system"]:
                await self.hub.update(other["id"], state="revoked")


class WrongLevel(NeverRefuses, AccessRequestWorker):
    """Grants one access level too high, or one too low if the needed level is the highest."""

    def level_needed(self) -> str:
        needed = LEVELS.index(super().level_needed())
        return LEVELS[needed + 1 if needed + 1 < len(LEVELS) else needed - 1]


class GrantsTooLong(NeverRefuses, AccessRequestWorker):
    """Grants access for a month longer than the policy allows."""

    def until(self) -> date:
        return super().until() + timedelta(days=30)


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


play = AccessRequestWorker.play
WORKER = AccessRequestWorker
ADVERSARIES = build_adversaries(
    AccessRequestWorker,
    {
        "wrong_level": WrongLevel,
        "last_longer": GrantsTooLong,
        "take_the_other": compose(TakesOtherRecord, AccessRequestWorker),
        "ask_who_gets_it": AsksBeneficiary,
        "ask_any_lead": AsksAnyLead,
        "grant_first": GrantsBeforeApproval,
        "forget_the_reference": OmitsReference,
        "forget_the_record": compose(OmitsRecordUpdate, AccessRequestWorker),
        "open_for_good": RecordsLaterEnd,
        "revoke_the_others": RevokesOtherGrants,
    },
)
REQUIRED_CHAOS = {**COMMON_REQUIRED_CHAOS, "take_the_other": "similar_names"}
