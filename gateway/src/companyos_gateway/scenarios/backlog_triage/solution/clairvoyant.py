"""The clairvoyant oracle: it knows the case and does what it takes, looking only at what the episode makes."""

from __future__ import annotations

from collections import Counter

from companyos.policies import Call
from companyos_gateway.chaos import profile_for
from companyos_gateway.rubrics.ticket_goals import TicketGoal
from companyos_gateway.scenarios.backlog_triage.case import Case
from companyos_gateway.scenarios.backlog_triage.scenario import stage
from companyos_gateway.scenarios.parts.knowing import Knowing
from companyos_gateway.scenarios.skills import Hands, TicketSkill


async def play_seed(seed: int, chaos: int, call: Call) -> None:
    """Solve the case of a seed and chaos level."""
    await Clairvoyant(stage(seed, profile_for(chaos), {}).case, Hands(call)).work()


class Clairvoyant(Knowing[Case]):
    """Does a sweep it knows."""

    async def learn(self) -> None:
        """Look at what speaks against it."""
        case = self.case
        await self.hands.ask("ticketdesk_list_tickets", team_id=case.team_id, tag=case.tag)
        await self.hands.ask("datahub_get_person", person_id=case.ordered_by)
        await self.hands.ask("ticketdesk_get_ticket", key=case.sweep_key)

    async def carry_out(self) -> None:
        """Sort what stays, then merge what came in twice."""
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
        ticket = TicketSkill(self.hands, goal.key)
        if (await ticket.look())["status"] is None:
            await ticket.move("open")
        if ticket.known["priority"] != goal.priority:
            await ticket.prioritise(goal.priority)
        if ticket.known["assignee_id"] not in goal.assignee_ids:
            person_id = min(goal.assignee_ids, key=lambda one: self.loads[one])
            self.loads[person_id] += len(goal.assignee_ids) > 1
            await ticket.assign(person_id)

    async def _merge(self, goal: TicketGoal, original: str) -> None:
        ticket = TicketSkill(self.hands, goal.key)
        if (await ticket.look())["status"] is None:
            await ticket.move("open")
        await self.hands.make("ticketdesk_link_tickets", key=goal.key, kind="duplicates", to_key=original)
        await ticket.move("cancelled", reason_code="duplicate", reason_ref=original)
