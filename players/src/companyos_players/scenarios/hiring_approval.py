"""The players of job offers: the fair oracle, and adversaries that omit, invent or overdo something."""

from __future__ import annotations

import re
from datetime import date, timedelta

from companyos_players import Json, Objection, Worker
from companyos_players.adversaries.base import COMMON_REQUIRED_CHAOS, NeverRefuses, build_adversaries

STEP_CENTS = 10_000


class HiringApprovalWorker(Worker):
    """Handles one job offer. Adversaries override single methods."""

    type_words = "job offer"
    justification = "The terms are within the policy, and the headcount plan has a free place for the position."

    async def investigate(self) -> None:
        """Find the draft, its position and the terms that may be offered."""
        self.figures = self.policy["parameters"]
        self.offer = await self.find_offer(self.ticket.known["description"])
        self.draft = self.offer["fields"]
        self.position = await self.hub.read(self.draft["position_id"])
        self.place = self.position["fields"]
        self.is_internal = self.draft["candidate_type"] == "internal"
        self.papers: dict[str, Json] = {}
        for value in (self.place["location"], self.place["cost_center"], self.draft["application"]):
            self.papers |= await self.hub.published(value)
        self.terms = await self.permitted_terms()

    async def find_offer(self, text: str) -> Json:
        """Return the draft offer that the ticket names, or that for the application that it names."""
        cited = re.findall(r"\b(?:OFF|APP)-[0-9]+\b", text)[0]
        if cited.startswith("OFF"):
            return await self.hub.read(cited)
        return (await self.hub.find_by_value("job_offer", cited, "draft"))[0]

    async def permitted_terms(self) -> Json:
        """Return the salary, bonus and start date that may be offered."""
        share = self.figures["internal_percent" if self.is_internal else "external_percent"]
        highest = self.papers["salary_bands"]["fields"][f"grade_{self.place['grade']}_max_cents"] * share // 100
        salary = min(self.draft["salary_cents"], highest // STEP_CENTS * STEP_CENTS)
        most = 0 if self.is_internal else salary * self.figures["sign_on_percent"] // 100
        bonus = min(self.draft["sign_on_cents"], most // STEP_CENTS * STEP_CENTS)
        proposed, notice_ends = (date.fromisoformat(self.draft[name]) for name in ("start_date", "notice_ends_on"))
        start = await self.first_working_day(max(proposed, notice_ends + timedelta(days=self.figures["lead_days"])))
        return {"salary_cents": salary, "sign_on_cents": bonus, "start_date": start.isoformat()}

    async def objection(self) -> Objection | None:
        """Object to a filled position, a freeze, a full plan and a flawed background check."""
        figures, papers = self.figures, self.papers
        taken = await self.hub.find_by_value("job_offer", self.place["cost_center"], "approved", "accepted")
        for other in taken:
            if other["fields"]["position_id"] == self.position["id"]:
                return Objection("duplicate", other["id"], "The position has an offer already.")
        if "hiring_freeze" in papers and self.place["grade"] < figures["exempt_from_grade"]:
            return Objection("policy_violation", papers["hiring_freeze"]["id"], "The cost center has a hiring freeze.")
        plan = papers["headcount_plan"]["fields"]
        if plan["planned"] - plan["filled"] <= len(taken):
            return Objection("requirement_not_met", papers["headcount_plan"]["id"], "The plan has no free place.")
        if not self.is_internal and self.is_flawed(papers["background_check"]["fields"]):
            return Objection("requirement_not_met", papers["background_check"]["id"], "The check has a flaw.")
        return None

    def is_flawed(self, check: Json) -> bool:
        """Return whether a background check does not meet the requirements."""
        age = date.fromisoformat(self.terms["start_date"]) - date.fromisoformat(check["completed_on"])
        is_old = age.days > self.figures["check_valid_days"]
        return bool(is_old or check["result"] != "clear" or check["references"] < self.figures["min_references"])

    async def complete_ticket(self) -> None:
        """Complete the ticket, and choose the approval type."""
        await super().complete_ticket()
        manager_id, person_id = self.position["owner_id"], self.draft.get("person_id")
        leads = (await self.client.call("datahub_get_approver", role="hr_lead"))["holders"]
        if self.is_internal:
            self.approvals = await self.find_approval_type("internal transfer")
            candidate = await self.client.call("datahub_get_person", person_id=person_id)
            self.approvals.only_holder = candidate["manager_id"]
        elif manager_id in [lead["person"]["id"] for lead in leads]:
            self.approvals = await self.find_approval_type("executive approval")
        self.approvals.excluded_ids |= {manager_id, person_id}

    async def answer(self, question: str) -> str:
        """Answer with the cost center or the location."""
        return f"It is {self.place['cost_center' if 'cost center' in question else 'location']}."

    def identifiers(self) -> tuple[str, ...]:
        return self.offer["id"], self.position["id"], self.draft["application"]

    def subject(self) -> str:
        return str(self.offer["id"])

    def amount_cents(self) -> int:
        """Return the cost of the first year."""
        return int(self.terms["salary_cents"] + self.terms["sign_on_cents"])

    def fields(self) -> Json:
        own = {"hiring_manager_id": self.position["owner_id"], "first_year_amount_cents": self.amount_cents()}
        return {"offer_id": self.subject(), **self.terms, **own}

    async def follow_up(self, request_id: str) -> None:
        """Record the offer, update the position, and withdraw the other drafts for it."""
        drafts = await self.hub.find_by_value("job_offer", self.position["id"], "draft")
        await self.hub.update(self.subject(), state="approved", fields={**self.terms, "approval_ref": request_id})
        await self.hub.update(self.position["id"], state="offered")
        for rival in drafts:
            if rival["id"] != self.subject():
                await self.hub.update(rival["id"], state="withdrawn")


class TakesOtherOffer(NeverRefuses, HiringApprovalWorker):
    """Uses a draft offer for the same job in another cost center."""

    async def find_offer(self, text: str) -> Json:
        offer = await super().find_offer(text)
        rows = await self.hub.find_titled(offer["title"], kind="job_offer", state="draft")
        others = [await self.hub.read(row["id"]) for row in rows]
        return next(one for one in others if one["fields"]["cost_center"] != offer["fields"]["cost_center"])


class AsksHiringManager(NeverRefuses, HiringApprovalWorker):
    """Lets the hiring manager approve their own offer, as the approver's deputy."""

    async def approver(self) -> str:
        return str(self.position["owner_id"])


class RefusesUnread(HiringApprovalWorker):
    """Refuses because of the background check, which it has found but not read."""

    async def objection(self) -> Objection | None:
        application = self.draft["application"]
        rows = await self.hub.find(query=application, kind="document", state="published")
        check_id = next((row["id"] for row in rows if application in row["title"]), self.position["id"])
        return Objection("requirement_not_met", check_id, "The background check has a flaw.")


play = HiringApprovalWorker.play
WORKER = HiringApprovalWorker
ADVERSARIES = build_adversaries(
    HiringApprovalWorker,
    {
        "take_other_offer": TakesOtherOffer,
        "ask_hiring_manager": AsksHiringManager,
        "refuse_unread": RefusesUnread,
    },
)
REQUIRED_CHAOS = {**COMMON_REQUIRED_CHAOS, "take_other_offer": "similar_names"}
