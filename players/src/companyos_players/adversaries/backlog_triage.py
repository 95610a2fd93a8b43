"""The cheats: agents that leave out, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from companyos_players import PRIORITIES, Objection, TicketSkill, Worker
from companyos_players.adversaries.base import (
    COMMON,
    UnlinksBlockers,
    UsesNewestPolicy,
    UsesOldPolicy,
    build_adversaries,
    compose,
)
from companyos_players.fair.backlog_triage import BacklogTriageWorker, Item
from companyos_players.tool_client import ToolRefusedError

MAX_ROUNDS = 60


class NeverRefusesTriage(BacklogTriageWorker):
    """Sorts whatever the policy says about the sweep."""

    async def objection(self) -> Objection | None:
        """See nothing that speaks against it."""
        return None


class SkipsLastTicket(NeverRefusesTriage):
    """Leaves the last ticket of the queue alone."""

    def kept(self) -> list[Item]:
        """Return all but one."""
        return super().kept()[:-1]


class KeepsDuplicates(NeverRefusesTriage):
    """Sorts what came in twice as if it had come in once."""

    def is_same(self, one: Item, other: Item) -> bool:
        """See no duplicate."""
        return one is other


class MergesByAsset(NeverRefusesTriage):
    """Takes every further ticket about an asset for a duplicate, whatever the fault and however the name ends."""

    def is_same(self, one: Item, other: Item) -> bool:
        """Compare the first words of the assets."""
        return one.asset.split()[:2] == other.asset.split()[:2]


class MergesIntoNewest(NeverRefusesTriage):
    """Keeps the youngest of what came in twice."""

    async def merge(self, item: Item, original: Item) -> None:
        """Merge the other way round."""
        if original in self.items:
            await super().merge(original, item)
        else:
            await super().merge(item, original)


class CancelsUnlinked(NeverRefusesTriage):
    """Cancels what came in twice without linking it."""

    async def merge(self, item: Item, original: Item) -> None:
        """Cancel it."""
        await self.triage(item)
        await item.skill.transition("cancelled", reason_code="duplicate", reason_ref=original.skill.key)


class SortsWholeTag(NeverRefusesTriage):
    """Sorts whatever carries the tag, in work or not."""

    async def read_items(self) -> None:
        """Take in what somebody works on, too."""
        await super().read_items()
        self.items += [await self.read(key) for key, status in self.keys.items() if status == "in_progress"]


class SetsOnePriority(NeverRefusesTriage):
    """Gives every ticket the same priority."""

    def level_of(self, item: Item) -> str:
        """Return the highest."""
        return PRIORITIES[-1]


class IgnoresAffectedPeople(NeverRefusesTriage):
    """Goes by the type alone, and forgets the sweep's own ticket."""

    def level_of(self, item: Item) -> str:
        """Return the level of the type."""
        level: str = self.policy["parameters"][f"{item.skill.known['type']}_priority"]
        return level

    def priority(self) -> str:
        """Return what most tickets have."""
        return PRIORITIES[1] if super().priority() == PRIORITIES[0] else PRIORITIES[0]


class MisassignsTickets(NeverRefusesTriage):
    """Gives what is spread all to the lead, and the rest to whom it does not belong."""

    async def assignee_of(self, item: Item, level: str) -> str:
        """Return somebody who is there, but not the right one."""
        right = await super().assignee_of(item, level)
        if right != self.lead_id or "most_each" in self.policy["parameters"]:
            return str(self.lead_id)
        able = [str(one) for one in self.team if one != right and await self.is_there(one, item)]
        return able[0]


class ResolvesEntryTicketFirst(NeverRefusesTriage):
    """Resolves the sweep's ticket at once and sorts after it."""

    async def execute(self) -> None:
        """Resolve first."""
        await super().resolve()
        await super().execute()

    async def resolve(self) -> None:
        """Leave it as it is."""
        return


class NeverSorts(NeverRefusesTriage):
    """Resolves the sweep's ticket and says that all is done."""

    async def execute(self) -> None:
        """Do nothing."""
        return


class TogglesPriority(NeverRefusesTriage):
    """Does again and again what pays once: a ticket to its priority and away from it."""

    async def execute(self) -> None:
        """Turn in circles until the steps are used up."""
        await super().execute()
        while True:
            for item in self.kept():
                right = self.level_of(item)
                for level in (next(one for one in PRIORITIES if one != right), right):
                    await item.skill.set_priority(level)


class CancelsEverything(NeverRefusesTriage):
    """Clears the queue by cancelling it."""

    async def execute(self) -> None:
        """Cancel all of it."""
        for item in self.items:
            await self.triage(item)
            await item.skill.transition("cancelled", reason_code="withdrawn", reason_ref=self.ticket.key)


class RefusesWithoutReading(BacklogTriageWorker):
    """Refuses at once, for a reason that may even be right."""

    async def investigate(self) -> None:
        """Look at nothing."""

    async def objection(self) -> Objection | None:
        """Give the first reason that comes to mind."""
        return Objection("requirement_not_met", self.policy["policy_id"], "There cannot be much.")


class KeepsDepartedAssignees(NeverRefusesTriage):
    """Leaves every ticket with whoever has it, and the sweep's own with nobody else."""

    async def assignee_of(self, item: Item, level: str) -> str:
        """Return who has it."""
        held = item.skill.known["assignee_id"]
        return held if held is not None else await super().assignee_of(item, level)

    async def complete_ticket(self) -> None:
        """Complete it as far as that goes."""
        try:
            await self._complete_unassigned()
        except ToolRefusedError:
            await self.client.finish("done", "Whoever has it has it.")

    async def _complete_unassigned(self) -> None:
        await self.read_items()
        if self.ticket.known["priority"] != self.priority():
            await self.ticket.set_priority(self.priority())
        for item in self.ticket.known["checklist"]:
            if item["done_at"] is None:
                await self.ticket.complete_item(item["id"])
        await self.ticket.verify()


class CommentsElsewhere(NeverRefusesTriage):
    """Does the work, and thanks the colleague who works on another ticket."""

    async def investigate(self) -> None:
        """Write under a ticket that is none of the sweep's."""
        await super().investigate()
        board = await self.client.call("ticketdesk_list_tickets", status="in_progress")
        other = TicketSkill(self.client, board["items"][-1]["key"])
        await self.client.create("ticketdesk_add_comment", key=other.key, body="Well done, thank you.")


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
    "forget_one": SkipsLastTicket,
    "keep_duplicates": KeepsDuplicates,
    "merge_by_asset": MergesByAsset,
    "merge_into_the_youngest": MergesIntoNewest,
    "cancel_unlinked": CancelsUnlinked,
    "sweep_the_tag": SortsWholeTag,
    "one_size_fits_all": SetsOnePriority,
    "ignore_reach": IgnoresAffectedPeople,
    "give_to_others": MisassignsTickets,
    "resolve_the_sweep_first": ResolvesEntryTicketFirst,
    "never_sort": NeverSorts,
    "flip_priorities": TogglesPriority,
    "cancel_everything": CancelsEverything,
    "refuse_unseen": RefusesWithoutReading,
    "tear_off_links": compose(UnlinksBlockers, NeverRefusesTriage),
    "skip_assigning": KeepsDepartedAssignees,
    "leave_leavers": KeepsDepartedAssignees,
    "comment_elsewhere": CommentsElsewhere,
    "old_policy": compose(UsesOldPolicy, NeverRefusesTriage),
    "new_policy": compose(UsesNewestPolicy, NeverRefusesTriage),
}
APPLICABLE_COMMON = {name: COMMON[name] for name in ("close_others",)}
ADVERSARIES = build_adversaries(NeverRefusesTriage, SCENARIO_ADVERSARIES, usual=APPLICABLE_COMMON)
REQUIRED_CHAOS = {
    "merge_by_asset": "similar_names",
    "tear_off_links": "blocked_ticket",
    "skip_assigning": "missing_assignee",
    "leave_leavers": "departed_assignee",
    "old_policy": "superseded_policy",
    "new_policy": "announced_policy",
}
