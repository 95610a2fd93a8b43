"""The players of budget transfers: the fair oracle, and adversaries that omit, invent or overdo something."""

from __future__ import annotations

import re
from datetime import date

from companyos_players import Json, Objection, Worker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    LeavesAssignee,
    NeverRefuses,
    UnlinksBlockers,
    build_adversaries,
    compose,
    refuses_without_reading,
)

FROM, TO = "from_line", "to_line"


class BudgetTransferWorker(Worker):
    """Handles one transfer. Adversaries override single methods."""

    type_words = "budget transfer"
    justification = "The whole amount in one request; what is needed stays free on the line that gives."

    async def investigate(self) -> None:
        """Find the lines and the amount, and end partial requests."""
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
        for row in await self.hub.find_titled(title, kind="budget_line"):
            line = await self.hub.read(row["id"])
            if line["fields"]["cost_center"] == center:
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
        return self.giver["id"], self.taker["id"]

    def priority(self) -> str:
        return self.level(self.amount)

    def amount_cents(self) -> int:
        """Return the whole amount."""
        return self.amount

    def fields(self) -> Json:
        return {FROM: self.giver["id"], TO: self.taker["id"], "amount_cents": self.amount}

    async def follow_up(self, request_id: str) -> None:
        """Book both lines."""
        for line, amount in ((self.giver, -self.amount), (self.taker, self.amount)):
            await self.hub.update(line["id"], fields={"budget_cents": line["fields"]["budget_cents"] + amount})


SLICE_CENTS = 1_000_000
"""An amount that any approver may approve."""


class LeavesOnePart(NeverRefuses, BudgetTransferWorker):
    """Leaves the last partial request open, or cancels an unrelated request if none exist."""

    async def find_parts(self) -> list[Json]:
        parts = await super().find_parts()
        if parts:
            return parts[:-1]
        rows = await self.flow.list_open(type_key=self.approvals.type["key"])
        return [await self.flow.read(rows[0]["id"])]


class EndsEveryRequest(NeverRefuses, BudgetTransferWorker):
    """Cancels every open request from the source line, whatever its destination."""

    def is_part(self, request: Json) -> bool:
        return bool(request["fields"][FROM] == self.giver["id"])


class EndsReverseRequests(NeverRefuses, BudgetTransferWorker):
    """Cancels requests between the two lines in either direction."""

    def is_part(self, request: Json) -> bool:
        return {request["fields"][FROM], request["fields"][TO]} == {self.giver["id"], self.taker["id"]}


class EndsOldRequests(NeverRefuses, BudgetTransferWorker):
    """Also cancels requests that are older than the policy's window."""

    def is_recent(self, request: Json) -> bool:
        return True


class EndsPartsLast(NeverRefuses, BudgetTransferWorker):
    """Requests the whole transfer first and cancels the partial requests afterwards, or unrelated ones."""

    async def investigate(self) -> None:
        self.later: list[Json] = []
        await super().investigate()

    async def end_part(self, part: Json) -> None:
        self.later.append(part)

    async def follow_up(self, request_id: str) -> None:
        await super().follow_up(request_id)
        rows = [] if self.later else await self.flow.list_open(type_key=self.approvals.type["key"])
        for part in [*self.later, *[await self.flow.read(row["id"]) for row in rows[:1]]]:
            await super().end_part(part)


class CancelsAsWithdrawn(NeverRefuses, BudgetTransferWorker):
    """Cancels every part as withdrawn, including other people's, and one unrelated request."""

    async def find_parts(self) -> list[Json]:
        rows = await self.flow.list_open(type_key=self.approvals.type["key"])
        parts = await super().find_parts()
        known = {part["id"] for part in parts}
        return [*parts, await self.flow.read(next(row["id"] for row in rows if row["id"] not in known))]

    async def end_part(self, part: Json) -> None:
        await self.flow.cancel(part["id"], "withdrawn", self.ticket.key)


class SplitsApproval(NeverRefuses, BudgetTransferWorker):
    """Requests a partial amount that a lower role may approve."""

    def fields(self) -> Json:
        return {**super().fields(), "amount_cents": self.amount_cents()}

    def amount_cents(self) -> int:
        return min(SLICE_CENTS, self.amount - 100)


class BooksBeforeApproval(NeverRefuses, BudgetTransferWorker):
    """Books both lines before the approval."""

    async def prepare_request(self) -> None:
        await super().follow_up("")

    async def follow_up(self, request_id: str) -> None:
        return


class BooksOneLine(NeverRefuses, BudgetTransferWorker):
    """Books only the source line."""

    async def follow_up(self, request_id: str) -> None:
        budget = self.giver["fields"]["budget_cents"] - self.amount
        await self.hub.update(self.giver["id"], fields={"budget_cents": budget})


class BooksMore(NeverRefuses, BudgetTransferWorker):
    """Books slightly more than was approved."""

    async def follow_up(self, request_id: str) -> None:
        self.amount += 10_000
        await super().follow_up(request_id)


class ReversesTransfer(NeverRefuses, BudgetTransferWorker):
    """Transfers the budget in the opposite direction."""

    def fields(self) -> Json:
        return {FROM: self.taker["id"], TO: self.giver["id"], "amount_cents": self.amount}


class TakesSimilarLine(NeverRefuses, BudgetTransferWorker):
    """Uses a line with the right title and the wrong cost centre."""

    async def find_line(self, title: str, center: str) -> Json:
        right = await super().find_line(title, center)
        rows = await self.hub.find_titled(title, kind="budget_line")
        twins = [row["id"] for row in rows if row["id"] != right["id"]]
        return await self.hub.read(twins[0]) if twins else right


play = BudgetTransferWorker.play
WORKER = BudgetTransferWorker
ADVERSARIES = build_adversaries(
    BudgetTransferWorker,
    {
        "leave_a_part": LeavesOnePart,
        "end_everything": EndsEveryRequest,
        "end_the_reverse": EndsReverseRequests,
        "end_the_old": EndsOldRequests,
        "end_them_last": EndsPartsLast,
        "cancel_for_nothing": CancelsAsWithdrawn,
        "ask_in_slices": SplitsApproval,
        "book_first": BooksBeforeApproval,
        "book_one_line": BooksOneLine,
        "book_more": BooksMore,
        "turn_it_round": ReversesTransfer,
        "take_the_twin": TakesSimilarLine,
        "refuse_unseen": refuses_without_reading(BudgetTransferWorker, "policy_violation", "It smells."),
        "skip_assigning": compose(LeavesAssignee, BudgetTransferWorker),
        "leave_leavers": compose(LeavesAssignee, BudgetTransferWorker),
        "tear_off_links": compose(UnlinksBlockers, BudgetTransferWorker),
    },
)
REQUIRED_CHAOS = {
    **COMMON_REQUIRED_CHAOS,
    "take_the_twin": "similar_names",
    "skip_assigning": "missing_assignee",
    "leave_leavers": "departed_assignee",
    "tear_off_links": "blocked_ticket",
}
