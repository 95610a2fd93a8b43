"""The players of security exceptions: the fair oracle, and adversaries that omit, invent or overdo something."""

from __future__ import annotations

from datetime import date, timedelta

from companyos_players import Json, Objection, Worker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    NeverRefuses,
    TakesOtherRecord,
    build_adversaries,
    compose,
)

KIND, EARLIER_STATES = "security_exception", ("active", "superseded", "expired")


class SecurityExceptionWorker(Worker):
    """Handles one security exception. Adversaries override single methods."""

    type_words = "security exception"
    justification = "The control is confirmed, and the last day is within the policy."

    async def investigate(self) -> None:
        """Read the exception, the finding, the system, its owner, the control review and earlier exceptions."""
        self.exception = await self.find_cited("EXC", "requester_id", kind=KIND, state="requested")
        self.first_day = date.fromisoformat(self.exception["starts_on"])
        self.risk = (await self.hub.read(self.exception["fields"]["finding_id"]))["fields"]
        system, control = self.risk["system"], self.policy["parameters"][f"{self.risk['rule']}_control"]
        (entry,) = await self.documents(f"System register: {system}")
        self.requester = await self.look_up(self.exception["fields"]["requester_id"])
        self.system_class, self.owner = entry["fields"]["class"], await self.look_up(entry["owner_id"])
        reviews = await self.documents(f"Control review on {system}: {control}")
        self.review = max(reviews, key=lambda review: str(review["fields"]["reviewed_on"]))
        rows = await self.client.list_all("datahub_search_records", query=system, kind=KIND)
        others = [await self.hub.read(row["id"]) for row in rows if row["state"] in EARLIER_STATES]
        earlier = [one for one in others if all(one["fields"][name] == self.risk[name] for name in ("system", "rule"))]
        self.earlier = sorted(earlier, key=lambda other: str(other["starts_on"]))

    async def documents(self, title: str) -> list[Json]:
        """Return the documents with a title."""
        return [await self.hub.read(row["id"]) for row in await self.hub.find_titled(title, kind="document")]

    async def complete_ticket(self) -> None:
        """Complete the ticket, and choose the approval type: security lead or CTO."""
        await super().complete_ticket()
        if self.system_class == "restricted" or any(held["role"] == "security_lead" for held in self.owner["roles"]):
            self.approvals = await self.find_approval_type("executive exception")
        self.approvals.excluded_ids |= {self.requester["id"], self.owner["id"]}

    async def answer(self, question: str) -> str:
        """Answer with the rule, the control and its reviewer."""
        reviewed = self.review["fields"]
        return f"The rule is {self.risk['rule']}. {reviewed['reviewer_id']} has confirmed the {reviewed['control']}."

    async def objection(self) -> Objection | None:
        """Object for the first reason that the policy lists."""
        risk, finding_id, reviewed = self.risk, self.exception["fields"]["finding_id"], self.review["fields"]
        if self.requester["team_id"] != self.owner["team_id"]:
            return Objection("not_entitled", self.requester["id"], "The system belongs to another team.")
        if date.fromisoformat(risk["fix_due_on"]) <= self.first_day:
            return Objection("requirement_not_met", finding_id, "The fix is due by then.")
        if (risk["severity"], self.system_class) == ("critical", "restricted"):
            return Objection("policy_violation", finding_id, "The finding is critical.")
        if len(self.earlier) >= self.policy["parameters"]["most_earlier"]:
            return Objection("policy_violation", self.earlier[-1]["id"], "There are too many earlier exceptions.")
        for other in self.earlier:
            if other["state"] == "active" and date.fromisoformat(other["ends_on"]) >= self.last_day():
                return Objection("duplicate", other["id"], "An active exception lasts as long.")
        oldest = self.first_day - timedelta(days=self.policy["parameters"]["review_days"])
        is_own = reviewed["reviewer_id"] in (self.requester["id"], self.owner["id"])
        if is_own or date.fromisoformat(reviewed["reviewed_on"]) < oldest or reviewed["result"] != "effective":
            return Objection("requirement_not_met", self.review["id"], "The control is not confirmed.")
        return None

    def last_day(self) -> date:
        """Return the last day of the exception."""
        figures, ends = self.policy["parameters"], [self.exception["ends_on"], self.risk["fix_due_on"]]
        longest = figures[f"longest_{self.risk['severity']}_days"] - figures.get(f"{self.system_class}_less_days", 0)
        terms = [(self.exception, longest), *((first, figures["total_days"]) for first in self.earlier[:1])]
        limits = [date.fromisoformat(one["starts_on"]) + timedelta(days=days - 1) for one, days in terms]
        return min(*map(date.fromisoformat, ends), *limits)

    def identifiers(self) -> tuple[str, ...]:
        return self.exception["id"], self.exception["title"]

    def priority(self) -> str:
        """Return the priority for the severity of the finding."""
        return str(self.policy["parameters"][f"{self.risk['severity']}_priority"])

    def subject(self) -> str:
        return str(self.exception["id"])

    def fields(self) -> Json:
        risk, last_day = self.risk, self.last_day().isoformat()
        ids = {"exception_id": self.subject(), "requester_id": self.requester["id"], "review_id": self.review["id"]}
        return ids | {"system": risk["system"], "severity": risk["severity"], "last_day": last_day}

    async def follow_up(self, request_id: str) -> None:
        """Record the exception, and end the exception that it renews."""
        fields = {"review_id": self.review["id"], "approval_ref": request_id}
        await self.hub.update(self.subject(), state="active", ends_on=self.last_day().isoformat(), fields=fields)
        day_before = (self.first_day - timedelta(days=1)).isoformat()
        for other in self.earlier:
            if other["state"] == "active":
                await self.hub.update(other["id"], state="superseded", ends_on=day_before)


class AsksOwner(NeverRefuses, SecurityExceptionWorker):
    """Lets the system owner approve the exception for their own system."""

    async def approver(self) -> str:
        return str(self.owner["id"])


play = SecurityExceptionWorker.play
WORKER = SecurityExceptionWorker
ADVERSARIES = build_adversaries(
    SecurityExceptionWorker,
    {
        "take_the_other": compose(TakesOtherRecord, SecurityExceptionWorker),
        "ask_the_owner": AsksOwner,
    },
)
REQUIRED_CHAOS = {**COMMON_REQUIRED_CHAOS, "take_the_other": "similar_names"}
