"""The fair oracle for budget transfers; it uses only the brief, tools and responses."""

from __future__ import annotations

import re
from datetime import date

from companyos_players import Objection, RecordSkill, RequestSkill, Worker
from companyos_players.player import Json

FROM, TO = "from_line", "to_line"


class BudgetTransferWorker(Worker):
    """Handles one transfer. Adversaries override single methods."""

    type_words = "budget transfer"
    justification = "The whole amount in one request; what is needed stays free on the line that gives."

    async def investigate(self) -> None:
        """Find the lines and the amount, and end partial requests."""
        self.hub, self.flow = RecordSkill(self.client), RequestSkill(self.client)
        text = self.ticket.known["description"]
        self.giver, self.taker = await self.find_lines(text)
        amount = re.search(r"EUR ([0-9][0-9,]*)", text)
        assert amount is not None, "no amount is named"
        self.amount = int(amount[1].replace(",", "")) * 100
        for part in await self.find_parts():
            await self.end_part(part)

    async def find_lines(self, text: str) -> tuple[Json, Json]:
        """Return the lines cited by id, or by title and cost center."""
        cited = re.search(r"from (BUD-[0-9]+) to (BUD-[0-9]+)", text)
        if cited:
            return await self.hub.read(cited[1]), await self.hub.read(cited[2])
        first, second = re.findall(r'"([^"]+)" \((CC-[0-9]+)\)', text)
        return await self.find_line(*first), await self.find_line(*second)

    async def find_line(self, title: str, center: str) -> Json:
        """Return the line with a title and a cost center."""
        for row in await self.hub.find(query=title, kind="budget_line"):
            line = await self.hub.read(row["id"]) if row["title"] == title else None
            if line is not None and line["fields"]["cost_center"] == center:
                return line
        raise LookupError(f"No budget line {title!r} in cost centre {center!r}")

    async def find_parts(self) -> list[Json]:
        """Return the open requests that are parts of the transfer."""
        rows = await self.flow.list_open(type_key=self.approvals.type["key"])
        requests = [await self.flow.read(row["id"]) for row in rows if self.is_recent(row)]
        return [request for request in requests if self.is_part(request)]

    def is_part(self, request: Json) -> bool:
        """Return whether a request is for the same lines in the same direction."""
        ends = request["fields"][FROM], request["fields"][TO]
        return bool(ends == (self.giver["id"], self.taker["id"]))

    def is_recent(self, request: Json) -> bool:
        """Return whether a request was submitted within the policy's window before the ticket."""
        ordered_on = date.fromisoformat(self.ticket.known["created_at"][:10])
        age = (ordered_on - date.fromisoformat(request["submitted_at"][:10])).days
        return bool(age <= self.policy["parameters"]["window_days"])

    async def end_part(self, part: Json) -> None:
        """Withdraw an own request, or cancel another person's."""
        if part["requester_id"] == self.task.acting_as:
            await self.flow.withdraw(part["id"])
        else:
            await self.flow.cancel(part["id"], "policy_violation", self.policy["policy_id"])

    async def answer(self, question: str) -> str:
        """Answer with the cost center of the target line or the budget of the source line."""
        if "cost center" in question:
            return f"The cost center of {self.taker['id']} is {self.taker['fields']['cost_center']}."
        return f"The budget of {self.giver['id']} is {self.giver['fields']['budget_cents'] / 100:,.2f} EUR."

    async def objection(self) -> Objection | None:
        """Object to an unauthorized requester, mismatched lines, or a line left with too little budget."""
        reporter_id = self.ticket.known["reporter_id"]
        if reporter_id != self.giver["owner_id"]:
            return Objection("not_entitled", reporter_id, "The owner of the line has not ordered this.")
        if self.giver["fields"]["nature"] != self.taker["fields"]["nature"]:
            return Objection("policy_violation", self.policy["policy_id"], "The lines are of different natures.")
        fields = self.giver["fields"]
        free = fields["budget_cents"] - fields["committed_cents"] - fields["spent_cents"]
        if free - self.amount < self.policy["parameters"]["reserve_cents"]:
            return Objection("requirement_not_met", self.giver["id"], "Too little would be left.")
        return None

    def identifiers(self) -> tuple[str, ...]:
        """Return the identifiers by which a text refers to this transfer."""
        return self.giver["id"], self.taker["id"]

    def priority(self) -> str:
        """Return the priority for the policy's thresholds."""
        return self.level(self.amount)

    def subject(self) -> str:
        """Return the ticket's key."""
        return self.ticket.key

    def amount_cents(self) -> int:
        """Return the whole amount."""
        return self.amount

    def fields(self) -> Json:
        """Return the fields of the approval request."""
        return {FROM: self.giver["id"], TO: self.taker["id"], "amount_cents": self.amount}

    async def follow_up(self, request_id: str) -> None:
        """Book both lines."""
        for line, amount in ((self.giver, -self.amount), (self.taker, self.amount)):
            await self.hub.update(line["id"], fields={"budget_cents": line["fields"]["budget_cents"] + amount})


play = BudgetTransferWorker.play
WORKER = BudgetTransferWorker
