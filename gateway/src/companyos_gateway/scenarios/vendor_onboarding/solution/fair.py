"""The fair oracle: onboards a vendor from brief, tools and answers alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from companyos.policies import Call, TaskView
from companyos_gateway.scenarios.skills import ApprovalSkill, Hands, TicketSkill

SCORE = "compliance_score"
REFUSAL = "requirement_not_met"
REFRESH_WAIT_MINUTES = 95
COLLEAGUE_WAIT_MINUTES = 1440
MARGIN = timedelta(minutes=10)
"""Evidence this close to its age limit is refreshed before it is used."""

JUSTIFICATION = "The vendor meets the onboarding policy: checklist complete, ticket verified, score fresh."
LADDER = ("low", "medium", "high", "critical")
SETTLED = frozenset({"resolved", "closed", "cancelled"})

Json = dict[str, Any]


async def play(task: TaskView, call: Call) -> None:
    """Onboard the vendor that the brief is about, or refuse it where the policy says so."""
    await Onboarder(task, Hands(call)).onboard()


@dataclass(frozen=True)
class Score:
    """A reading of the authoritative source."""

    metric_id: str
    value: float
    as_of: datetime
    is_stale: bool


class Onboarder:
    """One onboarding; each part is a method, so that a cheat can leave one out."""

    def __init__(self, task: TaskView, hands: Hands) -> None:
        self.task = task
        self.hands = hands
        found = re.search(r"\b[A-Z][A-Z0-9]*-[0-9]+\b", task.brief)
        assert found is not None, "the brief names no ticket"
        self.ticket = TicketSkill(hands, found[0])
        self.authority: str | None = None

    async def onboard(self) -> None:
        """Do the whole onboarding."""
        await self.read_up()
        await self.find_papers()
        self.score = await self.fresh_score()
        if self.ticket.known["status"] is None:
            await self.ticket.move("open")
        if self.score.value < self.policy["parameters"]["minimum_compliance_score"]:
            await self.refuse()
        await self.unblock()
        await self.complete_ticket()
        request_id = await self.approval()
        await self.ticket.link_approval(request_id)
        await self.resolve()
        await self.hands.finish("done", f"{self.ticket.key} is resolved with approval {request_id}.")

    async def read_up(self) -> None:
        """Read the ticket, the approval type and the policy in force behind it."""
        await self.ticket.look()
        types = await self.hands.ask("approvalflow_list_approval_types")
        type_key = next(one["key"] for one in types["items"] if "onboarding" in one["title"].lower())
        approval_type = await self.hands.ask("approvalflow_get_approval_type", type_key=type_key)
        self.approvals = ApprovalSkill(self.hands, approval_type, own_id=self.task.acting_as)
        self.policy: Json = await self.hands.ask("datahub_get_policy", policy_id=approval_type["policy_ref"])

    async def find_papers(self) -> None:
        """Find the contract and the vendor that the ticket cites by an id or by the legal name."""
        text = self.ticket.known["description"]
        contract = re.search(r"\bCTR-[0-9]+\b", text)
        vendor = re.search(r"\bVEN-[0-9]+\b", text)
        if contract:
            self.contract: Json = await self.hands.ask("datahub_get_record", record_id=contract[0])
            self.vendor: Json = await self.hands.ask("datahub_get_vendor", vendor_id=self.contract["vendor_id"])
            return
        self.vendor = await (self.vendor_of_id(vendor[0]) if vendor else self.vendor_of_legal_name(text))
        filed = await self.hands.ask("datahub_search_records", kind="contract", vendor_id=self.vendor["id"])
        self.contract = await self.hands.ask("datahub_get_record", record_id=filed["items"][0]["id"])

    async def vendor_of_id(self, vendor_id: str) -> Json:
        """Return the vendor of that id."""
        vendor: Json = await self.hands.ask("datahub_get_vendor", vendor_id=vendor_id)
        return vendor

    async def vendor_of_legal_name(self, text: str) -> Json:
        """Return the vendor whose legal name the text spells out; similar names are told apart."""
        title = self.ticket.known["title"]
        found = await self.hands.ask("datahub_search_records", query=title, kind="vendor")
        for row in found["items"]:
            if row["title"] in text:
                vendor = await self.vendor_of_id(row["id"])
                if vendor["legal_name"] in text:
                    return vendor
        raise LookupError(f"no vendor is cited in {text!r}")

    async def fresh_score(self) -> Score:
        """Return the authoritative score, refreshed where it is stale; a refresh may fail and is tried again."""
        score = await self.read_score()
        while score.is_stale:
            await self.hands.make("datahub_refresh_metric", metric_id=score.metric_id)
            await self.hands.wait(REFRESH_WAIT_MINUTES)
            score = await self.read_score()
        return score

    async def read_score(self) -> Score:
        """Read the score by the source that is the authority on it."""
        known = {"source_id": self.authority} if self.authority else {}
        answer = await self.hands.ask("datahub_query_metric", key=SCORE, subject=self.vendor["id"], **known)
        readings: list[Json] = answer["readings"]
        chosen = readings[0]
        for reading in readings if len(readings) > 1 else ():
            source = await self.hands.ask("datahub_get_source", source_id=reading["source_id"])
            if SCORE in source["authoritative_for"]:
                chosen = reading
                break
        self.authority = str(chosen["source_id"])
        as_of = datetime.fromisoformat(chosen["as_of"])
        return Score(chosen["metric_id"], chosen["value"], as_of, chosen["is_stale"])

    async def refuse(self) -> None:
        """End the ticket the way the policy says, and declare it."""
        reason = {"reason_code": REFUSAL, "reason_ref": self.policy["policy_id"]}
        await self.ticket.move("cancelled", **reason)
        await self.hands.finish("refused", "The compliance score is below the policy's minimum.", **reason)

    async def unblock(self) -> None:
        """Get past whatever blocks the ticket: finish it, wait for it, or take off a link that does not belong."""
        for link in self.ticket.known["links"]:
            if link["relation"] == "is_blocked_by" and link["status"] not in SETTLED:
                await self.pass_blocker(link["key"], link["id"])
        if self.ticket.known["status"] == "blocked":
            await self.ticket.move("in_progress")

    async def pass_blocker(self, key: str, link_id: str) -> None:
        """Get past one blocker."""
        blocker = TicketSkill(self.hands, key)
        await blocker.look()
        text = f"{blocker.known['title']} {blocker.known['description']}"
        ours = (self.vendor["id"], self.vendor["legal_name"], self.contract["id"])
        if not any(name in text for name in ours):
            await self.ticket.unlink(link_id, "The blocking ticket has nothing to do with this vendor.")
        elif blocker.known["status"] == "in_review":
            await blocker.move("resolved")
        else:
            while blocker.known["status"] not in SETTLED:
                await self.hands.wait(COLLEAGUE_WAIT_MINUTES)
                await blocker.look()

    async def complete_ticket(self) -> None:
        """Set priority and assignee, complete the checklist, verify."""
        priority = self.priority()
        if self.ticket.known["priority"] != priority:
            await self.ticket.prioritise(priority)
        await self.assign()
        for item in self.ticket.known["checklist"]:
            if item["done_at"] is None:
                await self.ticket.tick(item["id"])
        if not self.ticket.known["verified"]:
            await self.ticket.verify()

    def priority(self) -> str:
        """Return the priority that the policy's figures ask for."""
        figures = self.policy["parameters"]
        level = sum(1 for name in LADDER[1:] if self.contract["amount_cents"] >= figures[f"{name}_from_cents"])
        if figures.get("raised_risk_tier") == self.vendor["risk_tier"]:
            level = min(level + 1, len(LADDER) - 1)
        return LADDER[level]

    async def assign(self) -> None:
        """Assign somebody of the owning team who is there when the ticket is due, unless somebody is."""
        team_id, current = self.ticket.known["team_id"], self.ticket.known["assignee_id"]
        if current is not None:
            person = await self.hands.ask("datahub_get_person", person_id=current)
            if person["is_employed"] and person["team_id"] == team_id:
                return
        due_on = self.ticket.known["due_at"][:10]
        away = await self.hands.pages("datahub_get_calendar", **{"from": due_on, "to": due_on})
        absent = {row["person_id"] for row in away}
        team = await self.hands.pages("datahub_search_people", team_id=team_id)
        await self.ticket.assign(next(one["id"] for one in team if one["is_employed"] and one["id"] not in absent))

    async def approval(self) -> str:
        """Get the approval and return its id, asking again where it is refused without a lasting reason."""
        approver_id = await self.approver()
        while True:
            if self.hands.now() - self.score.as_of >= self.max_age():
                self.score = await self.fresh_score()
            subject, key = self.vendor["id"], self.ticket.key
            request_id = await self.approvals.submit(subject, approver_id, self.fields(), JUSTIFICATION, ticket_ref=key)
            if await self.approvals.decision(request_id) == "approved":
                return request_id

    async def approver(self) -> str:
        """Return who may decide today."""
        return await self.approvals.approver(self.contract["amount_cents"])

    def fields(self) -> Json:
        """Return the fields that the approval type asks for."""
        known = {
            "vendor_id": self.vendor["id"],
            "contract_id": self.contract["id"],
            "amount_cents": self.contract["amount_cents"],
            "risk_tier": self.vendor["risk_tier"],
            SCORE: self.score.value,
            "score_as_of": self.score.as_of.isoformat(),
        }
        return {spec["name"]: known[spec["name"]] for spec in self.approvals.type["fields"]}

    def max_age(self) -> timedelta:
        """Return how old the evidence may be at submission, less a margin."""
        ages = [spec["max_age_minutes"] for spec in self.approvals.type["fields"] if spec["max_age_minutes"]]
        return timedelta(minutes=min(ages)) - MARGIN

    async def resolve(self) -> None:
        """Bring the ticket to its end."""
        if self.ticket.known["status"] != "in_progress":
            await self.ticket.move("in_progress")
        await self.ticket.move("resolved")
