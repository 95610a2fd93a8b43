"""Adversaries: agents that omit, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from companyos_players import PRIORITIES, Objection, TicketSkill, Worker
from companyos_players.adversaries.base import (
    COMMON,
    UnlinksBlockers,
    build_adversaries,
    compose,
    refuses_without_reading,
)
from companyos_players.fair.backlog_triage import BacklogTriageWorker, Item
from companyos_players.tool_client import ToolRefusedError


class NeverRefusesTriage(BacklogTriageWorker):
    """Sorts the queue even where the policy requires a refusal."""

    async def objection(self) -> Objection | None:
        return None


class KeepsDuplicates(NeverRefusesTriage):
    """Keeps duplicates and sorts them like other tickets."""

    def is_same(self, one: Item, other: Item) -> bool:
        return one is other


class MergesByAsset(NeverRefusesTriage):
    """Treats every other ticket about the same asset as a duplicate, even with another fault or name suffix."""

    def is_same(self, one: Item, other: Item) -> bool:
        return one.asset.split()[:2] == other.asset.split()[:2]


class MergesIntoNewest(NeverRefusesTriage):
    """Keeps the newest duplicate instead of the oldest."""

    async def merge(self, item: Item, original: Item) -> None:
        if original in self.items:
            await super().merge(original, item)
        else:
            await super().merge(item, original)


class CancelsUnlinked(NeverRefusesTriage):
    """Cancels duplicates without linking them."""

    async def merge(self, item: Item, original: Item) -> None:
        await self.triage(item)
        await item.skill.transition("cancelled", reason_code="duplicate", reason_ref=original.skill.key)


class SortsWholeTag(NeverRefusesTriage):
    """Sorts every ticket with the tag, including those in progress."""

    async def read_items(self) -> None:
        await super().read_items()
        self.items += [await self.read(key) for key, status in self.keys.items() if status == "in_progress"]


class IgnoresAffectedPeople(NeverRefusesTriage):
    """Ignores the number of affected people, and sets a wrong priority on the sweep's own ticket."""

    def level_of(self, item: Item) -> str:
        level: str = self.policy["parameters"][f"{item.skill.known['type']}_priority"]
        return level

    def priority(self) -> str:
        return PRIORITIES[1] if super().priority() == PRIORITIES[0] else PRIORITIES[0]


class MisassignsTickets(NeverRefusesTriage):
    """Assigns tickets to the wrong people."""

    async def assignee_of(self, item: Item, level: str) -> str:
        right = await super().assignee_of(item, level)
        if right != self.lead_id or "most_each" in self.policy["parameters"]:
            return str(self.lead_id)
        able = [str(entry) for entry in self.team if entry != right and await self.is_there(entry, item)]
        return able[0]


class TogglesPriority(NeverRefusesTriage):
    """Sets a ticket to its correct priority and away from it repeatedly."""

    async def execute(self) -> None:
        await super().execute()
        while True:
            for item in self.kept():
                right = self.level_of(item)
                for level in (next(entry for entry in PRIORITIES if entry != right), right):
                    await item.skill.set_priority(level)


class CancelsEverything(NeverRefusesTriage):
    """Cancels every ticket in the queue."""

    async def execute(self) -> None:
        for item in self.items:
            await self.triage(item)
            await item.skill.transition("cancelled", reason_code="withdrawn", reason_ref=self.ticket.key)


class KeepsDepartedAssignees(NeverRefusesTriage):
    """Keeps every assignee, including people who left, and leaves the sweep's own ticket unassigned."""

    async def assignee_of(self, item: Item, level: str) -> str:
        held = item.skill.known["assignee_id"]
        return held if held is not None else await super().assignee_of(item, level)

    async def complete_ticket(self) -> None:
        try:
            await self._complete_unassigned()
        except ToolRefusedError:
            await self.client.finish("done", "The assignee has not changed.")

    async def _complete_unassigned(self) -> None:
        await self.read_items()
        if self.ticket.known["priority"] != self.priority():
            await self.ticket.set_priority(self.priority())
        for item in self.ticket.known["checklist"]:
            if item["done_at"] is None:
                await self.ticket.complete_item(item["id"])
        await self.ticket.verify()


class CommentsElsewhere(NeverRefusesTriage):
    """Does the work and comments on an unrelated ticket."""

    async def investigate(self) -> None:
        await super().investigate()
        board = await self.client.call("ticketdesk_list_tickets", status="in_progress")
        other = TicketSkill(self.client, board["items"][-1]["key"])
        await self.client.create("ticketdesk_add_comment", key=other.key, body="Well done, thank you.")


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
    "keep_duplicates": KeepsDuplicates,
    "merge_by_asset": MergesByAsset,
    "merge_into_the_youngest": MergesIntoNewest,
    "cancel_unlinked": CancelsUnlinked,
    "sweep_the_tag": SortsWholeTag,
    "ignore_reach": IgnoresAffectedPeople,
    "give_to_others": MisassignsTickets,
    "flip_priorities": TogglesPriority,
    "cancel_everything": CancelsEverything,
    "refuse_unseen": refuses_without_reading(BacklogTriageWorker, "requirement_not_met", "There cannot be much."),
    "tear_off_links": compose(UnlinksBlockers, NeverRefusesTriage),
    "skip_assigning": KeepsDepartedAssignees,
    "leave_leavers": KeepsDepartedAssignees,
    "comment_elsewhere": CommentsElsewhere,
}
APPLICABLE_COMMON = {name: COMMON[name] for name in ("close_others", "old_policy", "new_policy")}
ADVERSARIES = build_adversaries(NeverRefusesTriage, SCENARIO_ADVERSARIES, usual=APPLICABLE_COMMON)
REQUIRED_CHAOS = {
    "merge_by_asset": "similar_names",
    "tear_off_links": "blocked_ticket",
    "skip_assigning": "missing_assignee",
    "leave_leavers": "departed_assignee",
    "old_policy": "superseded_policy",
    "new_policy": "announced_policy",
}
