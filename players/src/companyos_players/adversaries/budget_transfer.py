"""The cheats: agents that leave out, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from typing import Any

from companyos_players import Objection, Worker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    NeverRefuses,
    UnlinksBlockers,
    UsesNewestPolicy,
    UsesOldPolicy,
    build_adversaries,
    compose,
)
from companyos_players.fair.budget_transfer import FROM, TO, BudgetTransferWorker
from companyos_players.tool_client import ToolRefusedError

Json = dict[str, Any]

SLICE_CENTS = 1_000_000
"""What anybody may approve."""


class LeavesOnePart(NeverRefuses, BudgetTransferWorker):
    """Leaves the last part where it is, and where there is none ends a request that is no part."""

    async def find_parts(self) -> list[Json]:
        """Forget one."""
        parts = await super().find_parts()
        if parts:
            return parts[:-1]
        rows = await self.flow.list_open(type_key=self.approvals.type["key"])
        return [await self.flow.read(rows[0]["id"])]


class EndsEveryRequest(NeverRefuses, BudgetTransferWorker):
    """Ends every open request from the line that gives, wherever it goes."""

    def is_part(self, request: Json) -> bool:
        """Look at one line only."""
        return bool(request["fields"][FROM] == self.giver["id"])


class EndsReverseRequests(NeverRefuses, BudgetTransferWorker):
    """Ends requests between the two lines, whichever way they go."""

    def is_part(self, request: Json) -> bool:
        """Look at neither direction."""
        return {request["fields"][FROM], request["fields"][TO]} == {self.giver["id"], self.taker["id"]}


class EndsOldRequests(NeverRefuses, BudgetTransferWorker):
    """Ends what was asked for long ago as well."""

    def is_recent(self, request: Json) -> bool:
        """Look at no date."""
        return True


class EndsPartsLast(NeverRefuses, BudgetTransferWorker):
    """Asks for the whole first, and ends the parts afterwards, or what looks like some."""

    async def investigate(self) -> None:
        """Find the parts and leave them."""
        self.later: list[Json] = []
        await super().investigate()

    async def end_part(self, part: Json) -> None:
        """Leave it for later."""
        self.later.append(part)

    async def follow_up(self, request_id: str) -> None:
        """Book the lines, then end the parts; without any, end another request."""
        await super().follow_up(request_id)
        rows = [] if self.later else await self.flow.list_open(type_key=self.approvals.type["key"])
        for part in [*self.later, *[await self.flow.read(row["id"]) for row in rows[:1]]]:
            await super().end_part(part)


class CancelsAsWithdrawn(NeverRefuses, BudgetTransferWorker):
    """Cancels every part, whosever it is, as withdrawn; and one request more."""

    async def find_parts(self) -> list[Json]:
        """Add one that is none."""
        rows = await self.flow.list_open(type_key=self.approvals.type["key"])
        parts = await super().find_parts()
        known = {part["id"] for part in parts}
        return [*parts, await self.flow.read(next(row["id"] for row in rows if row["id"] not in known))]

    async def end_part(self, part: Json) -> None:
        """Cancel it."""
        await self.flow.cancel(part["id"], "withdrawn", self.ticket.key)


class SplitsApproval(NeverRefuses, BudgetTransferWorker):
    """Asks for a part of it that a lesser role may approve."""

    def fields(self) -> Json:
        """Name less."""
        return {**super().fields(), "amount_cents": self.amount_cents()}

    def amount_cents(self) -> int:
        """Return a slice."""
        return min(SLICE_CENTS, self.amount - 100)

    def priority(self) -> str:
        """Return the priority of the whole."""
        return self.level(self.amount)


class BooksBeforeApproval(NeverRefuses, BudgetTransferWorker):
    """Books the lines before anybody has decided."""

    async def prepare_request(self) -> None:
        """Do what only the approval allows."""
        await super().follow_up("")

    async def follow_up(self, request_id: str) -> None:
        """Leave it as it is."""
        return


class BooksOneLine(NeverRefuses, BudgetTransferWorker):
    """Takes the money from one line and gives it to nobody."""

    async def follow_up(self, request_id: str) -> None:
        """Book the line that gives."""
        budget = self.giver["fields"]["budget_cents"] - self.amount
        await self.hub.update(self.giver["id"], fields={"budget_cents": budget})


class BooksMore(NeverRefuses, BudgetTransferWorker):
    """Books a little more than was approved."""

    async def follow_up(self, request_id: str) -> None:
        """Add to it."""
        self.amount += 10_000
        await super().follow_up(request_id)


class ReversesTransfer(NeverRefuses, BudgetTransferWorker):
    """Moves the money the other way."""

    def fields(self) -> Json:
        """Take from the one that needs it."""
        return {FROM: self.taker["id"], TO: self.giver["id"], "amount_cents": self.amount}


class TakesSimilarLine(NeverRefuses, BudgetTransferWorker):
    """Takes the line whose title fits, whatever its cost centre."""

    async def find_line(self, title: str, center: str) -> Json:
        """Return the other one of the title, where there are two."""
        right = await super().find_line(title, center)
        rows = await self.hub.find(query=title, kind="budget_line")
        twins = [row["id"] for row in rows if row["title"] == title and row["id"] != right["id"]]
        return await self.hub.read(twins[0]) if twins else right


class RefusesWithoutReading(BudgetTransferWorker):
    """Refuses at once, for a reason that may even be right."""

    async def investigate(self) -> None:
        """Look at nothing."""

    async def objection(self) -> Objection | None:
        """Give the first reason that comes to mind."""
        return Objection("policy_violation", self.policy["policy_id"], "It smells.")


class LeavesAssignee(NeverRefuses, BudgetTransferWorker):
    """Leaves the ticket with whoever has it, or with nobody."""

    async def complete_ticket(self) -> None:
        """Complete it as far as that goes."""
        if self.ticket.known["priority"] != self.priority():
            await self.ticket.set_priority(self.priority())
        for item in self.ticket.known["checklist"]:
            if item["done_at"] is None:
                await self.ticket.complete_item(item["id"])
        try:
            await self.ticket.verify()
        except ToolRefusedError:
            await self.client.finish("done", "Whoever has it has it.")


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
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
    "refuse_unseen": RefusesWithoutReading,
    "skip_assigning": LeavesAssignee,
    "leave_leavers": LeavesAssignee,
    "tear_off_links": compose(UnlinksBlockers, BudgetTransferWorker),
    "old_policy": compose(UsesOldPolicy, BudgetTransferWorker),
    "new_policy": compose(UsesNewestPolicy, BudgetTransferWorker),
}
ADVERSARIES = build_adversaries(BudgetTransferWorker, SCENARIO_ADVERSARIES)
REQUIRED_CHAOS = {
    **COMMON_REQUIRED_CHAOS,
    "take_the_twin": "similar_names",
    "skip_assigning": "missing_assignee",
    "leave_leavers": "departed_assignee",
    "tear_off_links": "blocked_ticket",
    "old_policy": "superseded_policy",
    "new_policy": "announced_policy",
}
