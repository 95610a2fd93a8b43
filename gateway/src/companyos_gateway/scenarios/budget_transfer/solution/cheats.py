"""The cheats: agents that leave out, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from typing import Any

from companyos_gateway.scenarios.budget_transfer.solution.fair import FROM, TO, Treasurer
from companyos_gateway.scenarios.skills import Objection, Worker
from companyos_gateway.scenarios.skills.cheating import (
    USUAL_NEEDS,
    NeverRefuses,
    NewPolicy,
    OldPolicy,
    TearsOffLinks,
    cheats_of,
    laid_over,
)
from companyos_gateway.scenarios.skills.hands import Refused

Json = dict[str, Any]

SLICE_CENTS = 1_000_000
"""What anybody may approve."""


class LeavesAPart(NeverRefuses, Treasurer):
    """Leaves the last part where it is, and where there is none ends a request that is no part."""

    async def find_parts(self) -> list[Json]:
        """Forget one."""
        parts = await super().find_parts()
        if parts:
            return parts[:-1]
        rows = await self.flow.waiting(type_key=self.approvals.type["key"])
        return [await self.flow.read(rows[0]["id"])]


class EndsEverything(NeverRefuses, Treasurer):
    """Ends every open request from the line that gives, wherever it goes."""

    def is_part(self, request: Json) -> bool:
        """Look at one line only."""
        return bool(request["fields"][FROM] == self.giver["id"])


class EndsTheReverse(NeverRefuses, Treasurer):
    """Ends requests between the two lines, whichever way they go."""

    def is_part(self, request: Json) -> bool:
        """Look at neither direction."""
        return {request["fields"][FROM], request["fields"][TO]} == {self.giver["id"], self.taker["id"]}


class EndsTheOld(NeverRefuses, Treasurer):
    """Ends what was asked for long ago as well."""

    def is_recent(self, request: Json) -> bool:
        """Look at no date."""
        return True


class EndsThemLast(NeverRefuses, Treasurer):
    """Asks for the whole first, and ends the parts afterwards, or what looks like some."""

    async def study(self) -> None:
        """Find the parts and leave them."""
        self.later: list[Json] = []
        await super().study()

    async def end_part(self, part: Json) -> None:
        """Leave it for later."""
        self.later.append(part)

    async def follow_up(self, request_id: str) -> None:
        """Book the lines, then end the parts; without any, end another request."""
        await super().follow_up(request_id)
        rows = [] if self.later else await self.flow.waiting(type_key=self.approvals.type["key"])
        for part in [*self.later, *[await self.flow.read(row["id"]) for row in rows[:1]]]:
            await super().end_part(part)


class CancelsForNothing(NeverRefuses, Treasurer):
    """Cancels every part, whosever it is, as withdrawn; and one request more."""

    async def find_parts(self) -> list[Json]:
        """Add one that is none."""
        rows = await self.flow.waiting(type_key=self.approvals.type["key"])
        parts = await super().find_parts()
        known = {part["id"] for part in parts}
        return [*parts, await self.flow.read(next(row["id"] for row in rows if row["id"] not in known))]

    async def end_part(self, part: Json) -> None:
        """Cancel it."""
        await self.flow.cancel(part["id"], "withdrawn", self.ticket.key)


class AsksInSlices(NeverRefuses, Treasurer):
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


class BooksFirst(NeverRefuses, Treasurer):
    """Books the lines before anybody has decided."""

    async def prepare_request(self) -> None:
        """Do what only the approval allows."""
        await super().follow_up("")

    async def follow_up(self, request_id: str) -> None:
        """Leave it as it is."""
        return


class BooksOneLine(NeverRefuses, Treasurer):
    """Takes the money from one line and gives it to nobody."""

    async def follow_up(self, request_id: str) -> None:
        """Book the line that gives."""
        budget = self.giver["fields"]["budget_cents"] - self.amount
        await self.hub.change(self.giver["id"], fields={"budget_cents": budget})


class BooksMore(NeverRefuses, Treasurer):
    """Books a little more than was approved."""

    async def follow_up(self, request_id: str) -> None:
        """Add to it."""
        self.amount += 10_000
        await super().follow_up(request_id)


class TurnsItRound(NeverRefuses, Treasurer):
    """Moves the money the other way."""

    def fields(self) -> Json:
        """Take from the one that needs it."""
        return {FROM: self.taker["id"], TO: self.giver["id"], "amount_cents": self.amount}


class TakesTheTwin(NeverRefuses, Treasurer):
    """Takes the line whose title fits, whatever its cost centre."""

    async def find_line(self, title: str, center: str) -> Json:
        """Return the other one of the title, where there are two."""
        right = await super().find_line(title, center)
        rows = await self.hub.find(query=title, kind="budget_line")
        twins = [row["id"] for row in rows if row["title"] == title and row["id"] != right["id"]]
        return await self.hub.read(twins[0]) if twins else right


class RefusesUnseen(Treasurer):
    """Refuses at once, for a reason that may even be right."""

    async def study(self) -> None:
        """Look at nothing."""

    async def objection(self) -> Objection | None:
        """Give the first reason that comes to mind."""
        return Objection("policy_violation", self.policy["policy_id"], "It smells.")


class KeepsWhoHasIt(NeverRefuses, Treasurer):
    """Leaves the ticket with whoever has it, or with nobody."""

    async def complete_ticket(self) -> None:
        """Complete it as far as that goes."""
        if self.ticket.known["priority"] != self.priority():
            await self.ticket.prioritise(self.priority())
        for item in self.ticket.known["checklist"]:
            if item["done_at"] is None:
                await self.ticket.tick(item["id"])
        try:
            await self.ticket.verify()
        except Refused:
            await self.hands.finish("done", "Whoever has it has it.")


OWN: dict[str, type[Worker]] = {
    "leave_a_part": LeavesAPart,
    "end_everything": EndsEverything,
    "end_the_reverse": EndsTheReverse,
    "end_the_old": EndsTheOld,
    "end_them_last": EndsThemLast,
    "cancel_for_nothing": CancelsForNothing,
    "ask_in_slices": AsksInSlices,
    "book_first": BooksFirst,
    "book_one_line": BooksOneLine,
    "book_more": BooksMore,
    "turn_it_round": TurnsItRound,
    "take_the_twin": TakesTheTwin,
    "refuse_unseen": RefusesUnseen,
    "skip_assigning": KeepsWhoHasIt,
    "leave_leavers": KeepsWhoHasIt,
    "tear_off_links": laid_over(TearsOffLinks, Treasurer),
    "old_policy": laid_over(OldPolicy, Treasurer),
    "new_policy": laid_over(NewPolicy, Treasurer),
}
CHEATS = cheats_of(Treasurer, OWN)
NEEDS = {
    **USUAL_NEEDS,
    "take_the_twin": "similar_names",
    "skip_assigning": "missing_assignee",
    "leave_leavers": "departed_assignee",
    "tear_off_links": "blocked_ticket",
    "old_policy": "superseded_policy",
    "new_policy": "announced_policy",
}
