"""The clairvoyant oracle: it knows the instance and reads only data that the episode creates."""

from __future__ import annotations

from collections import Counter

from companyos_gateway.evaluation.ticket_goals import TicketGoal
from companyos_gateway.scenarios.backlog_triage.case import Case
from companyos_players import TicketSkill
from verification.privileged.oracle import PrivilegedOracle


class BacklogTriagePrivilegedOracle(PrivilegedOracle[Case]):
    """Does a known sweep."""

    async def learn(self) -> None:
        """Read the evidence for a refusal."""
        case = self.case
        await self.client.call("ticketdesk_list_tickets", team_id=case.team_id, tag=case.tag)
        await self.client.call("datahub_get_person", person_id=case.ordered_by)
        await self.client.call("ticketdesk_get_ticket", key=case.sweep_key)

    async def execute(self) -> None:
        """Sort the kept tickets, then merge the duplicates."""
        self.loads: Counter[str] = Counter()
        for goal in self.case.goals:
            if goal.assignee_ids is not None and len(goal.assignee_ids) == 1:
                self.loads[goal.assignee_ids[0]] += 1
        for goal in self.case.goals:
            if goal.original is None:
                await self._sort(goal)
        for goal in self.case.goals:
            if goal.original is not None:
                await self._merge(goal, goal.original)

    async def _sort(self, goal: TicketGoal) -> None:
        assert goal.priority is not None
        assert goal.assignee_ids is not None
        ticket = TicketSkill(self.client, goal.key)
        if (await ticket.read())["status"] is None:
            await ticket.transition("open")
        if ticket.known["priority"] != goal.priority:
            await ticket.set_priority(goal.priority)
        if ticket.known["assignee_id"] not in goal.assignee_ids:
            person_id = min(goal.assignee_ids, key=lambda one: self.loads[one])
            self.loads[person_id] += len(goal.assignee_ids) > 1
            await ticket.assign(person_id)

    async def _merge(self, goal: TicketGoal, original: str) -> None:
        ticket = TicketSkill(self.client, goal.key)
        if (await ticket.read())["status"] is None:
            await ticket.transition("open")
        await self.client.create("ticketdesk_link_tickets", key=goal.key, kind="duplicates", to_key=original)
        await ticket.transition("cancelled", reason_code="duplicate", reason_ref=original)


ORACLE = BacklogTriagePrivilegedOracle
