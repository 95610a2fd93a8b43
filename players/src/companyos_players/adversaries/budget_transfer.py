"""Adversaries: agents that omit, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from companyos_players import Worker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    NeverRefuses,
    UnlinksBlockers,
    build_adversaries,
    compose,
    refuses_without_reading,
)
from companyos_players.fair.budget_transfer import FROM, TO, BudgetTransferWorker
from companyos_players.player import Json
from companyos_players.tool_client import ToolRefusedError

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
        rows = await self.hub.find(query=title, kind="budget_line")
        twins = [row["id"] for row in rows if row["title"] == title and row["id"] != right["id"]]
        return await self.hub.read(twins[0]) if twins else right


class LeavesAssignee(NeverRefuses, BudgetTransferWorker):
    """Leaves the ticket's assignee unchanged."""

    async def complete_ticket(self) -> None:
        if self.ticket.known["priority"] != self.priority():
            await self.ticket.set_priority(self.priority())
        for item in self.ticket.known["checklist"]:
            if item["done_at"] is None:
                await self.ticket.complete_item(item["id"])
        try:
            await self.ticket.verify()
        except ToolRefusedError:
            await self.client.finish("done", "The assignee has not changed.")


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
    "refuse_unseen": refuses_without_reading(BudgetTransferWorker, "policy_violation", "It smells."),
    "skip_assigning": LeavesAssignee,
    "leave_leavers": LeavesAssignee,
    "tear_off_links": compose(UnlinksBlockers, BudgetTransferWorker),
}
ADVERSARIES = build_adversaries(BudgetTransferWorker, SCENARIO_ADVERSARIES)
REQUIRED_CHAOS = {
    **COMMON_REQUIRED_CHAOS,
    "take_the_twin": "similar_names",
    "skip_assigning": "missing_assignee",
    "leave_leavers": "departed_assignee",
    "tear_off_links": "blocked_ticket",
}
