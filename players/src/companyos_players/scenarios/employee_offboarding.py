"""The players of offboarding: the fair oracle, and adversaries that omit, invent or overdo something."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime, timedelta

from companyos_players import (
    PRIORITIES,
    ApprovalSkill,
    Json,
    MissingFactError,
    Objection,
    TicketSkill,
    ToolRefusedError,
    Worker,
)
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    COMMON_WITHOUT_APPROVALS,
    NeverRefuses,
    build_adversaries,
)

ENDED = ("resolved", "closed", "cancelled")
ESCALATION = "Who it lies with leaves the company."
TOPIC = "offboarding"
NAME = r"\b[A-Z][a-z]+ [A-Z][a-z]+"


class EmployeeOffboardingWorker(Worker):
    """Handles one offboarding. Adversaries override single methods."""

    async def read_context(self) -> None:
        """Read the ticket and the policy in force."""
        await self.ticket.read()
        found = await self.client.list_all("datahub_search_policies", topic=TOPIC)
        self.policy = await self.client.call("datahub_get_policy", policy_id=found[0]["policy_id"])

    async def investigate(self) -> None:
        """Find the leaver."""
        self.leaver = await self.find_leaver()
        self.person_id = str(self.leaver["id"])
        self.types: dict[str, ApprovalSkill] = {}

    async def find_leaver(self) -> Json:
        """Return the person that the ticket names by number, or by name and team."""
        text = self.ticket.known["description"]
        number = re.search(r"\bE-[0-9]+\b", text)
        if number:
            return await self.look_up(number[0])
        name = re.search(NAME, text)
        assert name is not None, "nobody is named"
        for row in (await self.client.call("datahub_search_people", query=name[0]))["items"]:
            if row["is_employed"] and row["name"] in text:
                person = await self.look_up(row["id"])
                if self.is_target(person, text):
                    return person
        raise LookupError(f"No person is named in {text!r}")

    def is_target(self, person: Json, text: str) -> bool:
        """Return whether the text refers to this person among several with the same name."""
        return person["team_name"] in text

    async def objection(self) -> Objection | None:
        """Object if the person stays, if there is a hold, or if the work is already done."""
        if self.leaver["employed_to"] is None:
            return Objection("requirement_not_met", self.person_id, "The directory knows of no last day.")
        for row in await self.hub.find(query=self.person_id, kind="document", state="published"):
            document = await self.hub.read(row["id"])
            fields = document["fields"]
            if fields.get("person_id") != self.person_id:
                continue
            if fields["document_type"] == "legal_hold":
                return Objection("policy_violation", document["id"], "A legal hold is in force.")
            if fields["document_type"] == "exit_record":
                return Objection("duplicate", document["id"], "They were offboarded before.")
        return None

    async def complete_ticket(self) -> None:
        """Look up the access grants and the team's lead, which the checklist requires, then complete the ticket."""
        await self.hub.find(query=self.person_id, kind="access_grant", state="active")
        await self.look_up(self.leaver["manager_id"])
        await super().complete_ticket()

    async def execute(self) -> None:
        """Hand over and end everything assigned to the leaver."""
        await self.hand_over_tickets()
        await self.cancel_requests()
        await self.escalate_requests()
        await self.revoke_delegations()
        await self.end_access()

    async def hand_over_tickets(self) -> None:
        """Reassign each open ticket of the leaver."""
        tickets = await self.client.list_all("ticketdesk_list_tickets", assignee_id=self.person_id)
        open_ = [ticket for ticket in tickets if ticket["status"] not in ENDED]
        if open_:
            lead_id, team = str(self.leaver["manager_id"]), await self.colleagues()
            for ticket in open_:
                await self.hand_over(ticket, [lead_id, *team] if self.goes_to_lead(ticket) else team)

    async def colleagues(self) -> list[str]:
        """Return the members of the leaver's team, without the lead."""
        rows = await self.client.list_all("datahub_search_people", team_id=self.leaver["team_id"])
        out = (self.person_id, self.leaver["manager_id"])
        return [row["id"] for row in rows if row["is_employed"] and row["id"] not in out]

    def goes_to_lead(self, ticket: Json) -> bool:
        """Return whether the team's lead takes a ticket."""
        return PRIORITIES.index(ticket["priority"]) >= PRIORITIES.index(self.policy["parameters"]["lead_from_priority"])

    async def hand_over(self, ticket: Json, takers: list[str]) -> None:
        """Assign the first person who is present on the ticket's due date."""
        for person_id in takers:
            try:
                await TicketSkill(self.client, ticket["key"]).assign(person_id)
            except ToolRefusedError:
                continue
            return

    async def cancel_requests(self) -> None:
        """Cancel the requests that the leaver submitted."""
        for row in await self.flow.list_open(requester_id=self.person_id):
            await self.flow.cancel(row["id"], "withdrawn", self.person_id)

    async def escalate_requests(self) -> None:
        """Escalate the requests that are pending with the leaver."""
        for row in await self.flow.list_open(approver_id=self.person_id):
            request = await self.flow.read(row["id"])
            approver_id = await self.decider(request)
            await self.flow.escalate(row["id"], approver_id, ESCALATION, self.person_id)

    async def decider(self, request: Json) -> str:
        """Return today's approver for a request."""
        approvals = await self.type_of(request)
        approvals.excluded_ids = {request["requester_id"], request["approver_id"]}
        return await self.entitled_approver(approvals, int(request["fields"][approvals.type["amount_field"]]))

    async def type_of(self, request: Json) -> ApprovalSkill:
        """Return the approval type of a request (cached)."""
        type_key = request["type_key"]
        if type_key not in self.types:
            approval_type = await self.client.call("approvalflow_get_approval_type", type_key=type_key)
            self.types[type_key] = ApprovalSkill(self.client, approval_type, own_id=self.task.acting_as)
            self.types[type_key].excluded_ids.add(self.person_id)
        return self.types[type_key]

    async def revoke_delegations(self) -> None:
        """Revoke every delegation to or from the leaver."""
        for side in ("to_id", "from_id"):
            for row in await self.client.list_all("approvalflow_list_delegations", **{side: self.person_id}):
                if row["revoked_at"] is None and self.lasts(row):
                    await self.flow.revoke(row["id"])

    def lasts(self, delegation: Json) -> bool:
        """Return whether a delegation has not ended yet."""
        return datetime.fromisoformat(delegation["ends_at"]) > self.client.now()

    async def end_access(self) -> None:
        """End every active grant as its level requires."""
        await self.end_grants(lambda grant: grant["fields"]["person_id"] == self.person_id)

    async def end_grants(self, is_theirs: Callable[[Json], bool]) -> None:
        """End the active grants among the search results."""
        revoked = self.policy["parameters"]["revoked_levels"].split(", ")
        for row in await self.hub.find(query=self.person_id, kind="access_grant", state="active"):
            grant = await self.hub.read(row["id"])
            if not is_theirs(grant):
                continue
            if grant["fields"]["access_level"] in revoked:
                await self.hub.update(grant["id"], state="revoked")
            elif date.fromisoformat(grant["ends_on"]) > self.last_day():
                await self.hub.update(grant["id"], ends_on=self.last_day().isoformat())

    def last_day(self) -> date:
        """Return the leaver's last day. Raises MissingFactError if the directory does not contain it."""
        if self.leaver["employed_to"] is None:
            raise MissingFactError(f"{self.person_id} has no last day")
        return date.fromisoformat(self.leaver["employed_to"])

    def identifiers(self) -> tuple[str, ...]:
        return self.person_id, self.leaver["name"]

    def priority(self) -> str:
        """Return the priority for the time until the leaver's last day."""
        return self.level((self.last_day() - date.fromisoformat(self.leaver["employed_from"])).days)


class TakesNamesake(NeverRefuses, EmployeeOffboardingWorker):
    """Offboards another person with the same name."""

    def is_target(self, person: Json, text: str) -> bool:
        return not super().is_target(person, text)

    def last_day(self) -> date:
        return self.client.now().date() + timedelta(days=30)


class KeepsFutureDelegations(NeverRefuses, EmployeeOffboardingWorker):
    """Revokes only delegations in force today."""

    async def revoke_delegations(self) -> None:
        for row in await self.client.list_all("approvalflow_list_delegations", to_id=self.person_id):
            has_begun = row["starts_at"] <= self.client.now().isoformat()
            if row["revoked_at"] is None and self.lasts(row) and has_begun:
                await self.flow.revoke(row["id"])


class RevokesOtherDelegations(NeverRefuses, EmployeeOffboardingWorker):
    """Also revokes other delegations of the holders."""

    async def revoke_delegations(self) -> None:
        for row in await self.client.list_all("approvalflow_list_delegations"):
            if row["revoked_at"] is None and self.lasts(row):
                await self.flow.revoke(row["id"])


class RevokesAllAccess(NeverRefuses, EmployeeOffboardingWorker):
    """Revokes every active grant at once, whatever its level and end date."""

    async def end_access(self) -> None:
        for row in await self.hub.find(query=self.person_id, kind="access_grant", state="active"):
            await self.hub.update(row["id"], state="revoked")


class CancelsPendingRequests(NeverRefuses, EmployeeOffboardingWorker):
    """Cancels requests pending at the leaver instead of escalating them."""

    async def escalate_requests(self) -> None:
        for row in await self.flow.list_open(approver_id=self.person_id):
            await self.flow.cancel(row["id"], "withdrawn", self.person_id)


class EscalatesToRoleHolder(NeverRefuses, EmployeeOffboardingWorker):
    """Escalates everything to the role holder, even an absent one."""

    async def escalate_requests(self) -> None:
        with suppress(ToolRefusedError):
            await super().escalate_requests()

    async def decider(self, request: Json) -> str:
        approvals = await self.type_of(request)
        holders = await approvals.holders(int(request["fields"][approvals.type["amount_field"]]))
        return str(holders[0]["person"]["id"])


class RepeatsRewardedHandovers(NeverRefuses, EmployeeOffboardingWorker):
    """Repeats steps that might pay: priority, handover, waiting."""

    async def execute(self) -> None:
        while True:
            for priority in ("low", self.priority()):
                await self.ticket.set_priority(priority)
            await self.hand_over_tickets()
            await self.client.wait(120)


play = EmployeeOffboardingWorker.play
WORKER = EmployeeOffboardingWorker
ADVERSARIES = build_adversaries(
    EmployeeOffboardingWorker,
    {
        "take_the_namesake": TakesNamesake,
        "keep_what_is_to_come": KeepsFutureDelegations,
        "revoke_everything": RevokesOtherDelegations,
        "revoke_all_access": RevokesAllAccess,
        "cancel_what_lies": CancelsPendingRequests,
        "escalate_to_the_holder": EscalatesToRoleHolder,
        "turn_in_circles": RepeatsRewardedHandovers,
    },
    usual=COMMON_WITHOUT_APPROVALS,
)
REQUIRED_CHAOS = {
    **{name: kind for name, kind in COMMON_REQUIRED_CHAOS.items() if name in ADVERSARIES},
    "take_the_namesake": "similar_names",
    "escalate_to_the_holder": "approver_out_of_office",
}
