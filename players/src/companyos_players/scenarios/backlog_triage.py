"""The players of backlog triage: the fair oracle, and adversaries that omit, invent or overdo something."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from companyos_players import PRIORITIES, Json, Objection, TicketSkill, Worker
from companyos_players.adversaries.base import (
    COMMON,
    LeavesAssignee,
    UnlinksBlockers,
    build_adversaries,
    compose,
    refuses_without_reading,
)

UNTOUCHED = (None, "open")
IN_WORK = ("in_progress", "in_review", "blocked")
URGENT = ("high", "critical")


@dataclass
class Item:
    """A ticket with the tag, and the facts parsed from its text."""

    skill: TicketSkill
    asset: str
    fault: str
    people: int
    original: Item | None = None

    @property
    def number(self) -> int:
        """The number in its key."""
        return int(self.skill.key.rpartition("-")[2])

    @property
    def due_on(self) -> str:
        """The due date."""
        return str(self.skill.known["due_at"][:10])


class BacklogTriageWorker(Worker):
    """Handles one sweep. Adversaries override single methods."""

    async def read_context(self) -> None:
        """Read the ticket and the triage policy in force."""
        await self.ticket.read()
        found = await self.client.call("datahub_search_policies", query="triage")
        named = next(row["policy_id"] for row in found["items"] if "triage" in row["title"].lower())
        self.policy = await self.client.call("datahub_get_policy", policy_id=named)

    async def investigate(self) -> None:
        """Find the tickets with the tag."""
        self.team_id = self.ticket.known["team_id"]
        self.tag = self.tag_of(self.ticket.known)
        rows = await self.client.list_all("ticketdesk_list_tickets", team_id=self.team_id, tag=self.tag)
        self.keys = {row["key"]: row["status"] for row in rows if row["status"] in (*UNTOUCHED, *IN_WORK)}

    async def complete_ticket(self) -> None:
        """Read the tickets, set the sweep's own priority to the most urgent one, and complete the sweep's ticket."""
        await self.read_items()
        await super().complete_ticket()

    async def read_items(self) -> None:
        """Read the tickets with the tag, and find duplicates."""
        items = sorted([await self.read(key) for key in self.keys], key=lambda item: item.number)
        self.items = [item for item in items if item.skill.known["status"] in UNTOUCHED]
        for item in self.items:
            first = next(entry for entry in items if self.is_same(entry, item))
            item.original = None if first is item else first

    def tag_of(self, ticket: Json) -> str:
        """Return the tag that a sweep's ticket names."""
        found = re.search(r'tag "([^"]+)"', ticket["description"])
        return found[1] if found else ""

    async def read(self, key: str) -> Item:
        """Read a ticket with the tag."""
        skill = TicketSkill(self.client, key)
        text = (await skill.read())["description"]
        patterns = (r'"([^"]+)"', r"fault ([0-9]+)", r"([0-9]+) people")
        asset, fault, people = (re.search(pattern, text, re.IGNORECASE) for pattern in patterns)
        assert asset is not None
        assert fault is not None
        assert people is not None
        return Item(skill, asset[1], fault[1], int(people[1]))

    def is_same(self, one: Item, other: Item) -> bool:
        """Return whether two tickets name the same asset and the same fault."""
        return (one.asset, one.fault) == (other.asset, other.fault)

    async def objection(self) -> Objection | None:
        """Object to an unauthorized sweep, a concurrent one, or one below the minimum size."""
        reporter_id = self.ticket.known["reporter_id"]
        reporter = await self.client.call("datahub_get_person", person_id=reporter_id)
        leads = any(held["role"] == "team_lead" for held in reporter["roles"])
        if not leads or reporter["team_id"] != self.team_id:
            return Objection("not_entitled", reporter_id, "The lead has not ordered this.")
        sweeps = {"team_id": self.team_id, "tag": "triage", "status": "in_progress"}
        for row in await self.client.list_all("ticketdesk_list_tickets", **sweeps):
            if row["key"] == self.ticket.key:
                continue
            other = await self.client.call("ticketdesk_get_ticket", key=row["key"])
            if self.tag_of(other) == self.tag:
                return Objection("duplicate", row["key"], "Somebody is doing this already.")
        if sum(status in UNTOUCHED for status in self.keys.values()) < self.policy["parameters"]["least_tickets"]:
            return Objection("requirement_not_met", self.policy["policy_id"], "There is too little to sort.")
        return None

    def identifiers(self) -> list[str]:
        """Return the tag."""
        return [self.tag]

    def kept(self) -> list[Item]:
        """Return the tickets that are not duplicates."""
        return [item for item in self.items if item.original is None]

    def priority(self) -> str:
        """Return the priority of the most urgent kept ticket."""
        return max((self.level_of(item) for item in self.kept()), key=PRIORITIES.index)

    def level_of(self, item: Item) -> str:
        """Return the priority that the policy requires."""
        figures = self.policy["parameters"]
        place = PRIORITIES.index(figures[f"{item.skill.known['type']}_priority"])
        return PRIORITIES[min(place + (item.people >= figures["raise_from_people"]), len(PRIORITIES) - 1)]

    async def execute(self) -> None:
        """Sort the kept tickets, then merge the duplicates."""
        await self.read_team()
        for item in self.kept():
            await self.triage(item)
        for item in self.kept():
            await self.sort(item)
        for item in self.items:
            if item.original is not None:
                await self.merge(item, item.original)

    async def read_team(self) -> None:
        """Read the team's members, lead and absences."""
        team = await self.client.list_all("datahub_search_people", team_id=self.team_id)
        self.team = [row["id"] for row in team if row["is_employed"]]
        self.lead_id = self.ticket.known["reporter_id"]
        self.absent: dict[str, set[str]] = {}
        self.loads: Counter[str] = Counter()
        for item in self.kept():
            held = item.skill.known["assignee_id"]
            if held is not None and await self.is_there(held, item):
                self.loads[held] += 1

    async def is_there(self, person_id: str, item: Item) -> bool:
        """Return whether a team member is present on a ticket's due date."""
        day = item.due_on
        if day not in self.absent:
            rows = await self.client.list_all("datahub_get_calendar", **{"from": day, "to": day})
            self.absent[day] = {row["person_id"] for row in rows}
        return person_id in self.team and person_id not in self.absent[day]

    async def triage(self, item: Item) -> None:
        """Triage an untriaged ticket."""
        if item.skill.known["status"] is None:
            await item.skill.transition("open")

    async def sort(self, item: Item) -> None:
        """Set a ticket's priority and assignee."""
        level = self.level_of(item)
        if item.skill.known["priority"] != level:
            await item.skill.set_priority(level)
        person_id = await self.assignee_of(item, level)
        if item.skill.known["assignee_id"] != person_id:
            await item.skill.assign(person_id)

    async def assignee_of(self, item: Item, level: str) -> str:
        """Return the assignee that the policy requires."""
        body, held = self.policy["body"], item.skill.known["assignee_id"]
        if "Asset card" in body:
            owner_id = await self.owner_of(item.asset)
            return owner_id if await self.is_there(owner_id, item) else self.lead_id
        may = [one for one in self.team if await self.is_there(one, item)]
        if "critical priority to the team's lead, and every other ticket" in body:
            may = [self.lead_id] if level in URGENT else [entry for entry in may if entry != self.lead_id]
        if held in may:
            return str(held)
        person_id = str(min(may, key=lambda one: self.loads[one]))
        self.loads[person_id] += 1
        return person_id

    async def owner_of(self, asset: str) -> str:
        """Return the owner from the asset's record."""
        rows = await self.hub.find_titled(f"Asset card: {asset}", kind="document")
        return str(rows[0]["owner_id"])

    async def merge(self, item: Item, original: Item) -> None:
        """Link a duplicate to its original and cancel it."""
        await self.triage(item)
        arguments = {"key": item.skill.key, "kind": "duplicates", "to_key": original.skill.key}
        await self.client.create("ticketdesk_link_tickets", **arguments)
        await item.skill.transition("cancelled", reason_code="duplicate", reason_ref=original.skill.key)


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


class KeepsDepartedAssignees(LeavesAssignee, NeverRefusesTriage):
    """Keeps every assignee, including people who left, and leaves the sweep's own ticket unassigned."""

    async def assignee_of(self, item: Item, level: str) -> str:
        held = item.skill.known["assignee_id"]
        return held if held is not None else await super().assignee_of(item, level)

    async def complete_ticket(self) -> None:
        await self.read_items()
        await super().complete_ticket()


class CommentsElsewhere(NeverRefusesTriage):
    """Does the work and comments on an unrelated ticket."""

    async def investigate(self) -> None:
        await super().investigate()
        board = await self.client.call("ticketdesk_list_tickets", status="in_progress")
        other = TicketSkill(self.client, board["items"][-1]["key"])
        await self.client.create("ticketdesk_add_comment", key=other.key, body="Well done, thank you.")


play = BacklogTriageWorker.play
WORKER = BacklogTriageWorker
APPLICABLE_COMMON = {name: COMMON[name] for name in ("close_others", "old_policy", "new_policy")}
ADVERSARIES = build_adversaries(
    NeverRefusesTriage,
    {
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
    },
    usual=APPLICABLE_COMMON,
)
REQUIRED_CHAOS = {
    "merge_by_asset": "similar_names",
    "tear_off_links": "blocked_ticket",
    "skip_assigning": "missing_assignee",
    "leave_leavers": "departed_assignee",
    "old_policy": "superseded_policy",
    "new_policy": "announced_policy",
}
