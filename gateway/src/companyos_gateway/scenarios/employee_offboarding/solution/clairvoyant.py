"""The clairvoyant oracle: it knows the case and does what it takes, looking only at what the episode makes."""

from __future__ import annotations

from companyos.policies import Call
from companyos_gateway.chaos import profile_for
from companyos_gateway.scenarios.employee_offboarding.case import Case, HandedOver
from companyos_gateway.scenarios.employee_offboarding.scenario import stage
from companyos_gateway.scenarios.parts.knowing import Knowing
from companyos_gateway.scenarios.skills import Hands, RecordSkill, Refused, RequestSkill, TicketSkill


async def play_seed(seed: int, chaos: int, call: Call) -> None:
    """Solve the case of a seed and chaos level."""
    await Clairvoyant(stage(seed, profile_for(chaos), {}).case, Hands(call)).work()


class Clairvoyant(Knowing[Case]):
    """Offboards somebody it knows."""

    async def learn(self) -> None:
        """Look at what speaks against it."""
        case = self.case
        if case.ground_id is not None:
            await self.hands.ask("datahub_get_record", record_id=case.ground_id)
        else:
            await self.hands.ask("datahub_get_person", person_id=case.person_id)

    async def carry_out(self) -> None:
        """Hand over and end everything."""
        case, flow, hub = self.case, RequestSkill(self.hands), RecordSkill(self.hands)
        assert case.last_day is not None
        for ticket in case.tickets:
            await self.hand_over(ticket)
        for request_id in case.cancelled_ids:
            await flow.cancel(request_id, "withdrawn", case.person_id)
        for one in case.escalated:
            await flow.escalate(one.request_id, case.approver_ids[0], "They leave.", case.person_id)
        for delegation_id in case.delegation_ids:
            await flow.revoke(delegation_id, to_id=case.person_id)
        for record_id in case.revoked_ids:
            await hub.change(record_id, state="revoked")
        for record_id in case.ended_ids:
            await hub.change(record_id, ends_on=case.last_day.isoformat())

    async def hand_over(self, ticket: HandedOver) -> None:
        """Assign the first who is there when the ticket is due."""
        for person_id in ticket.assignee_ids:
            try:
                await TicketSkill(self.hands, ticket.key).assign(person_id)
            except Refused:
                continue
            return
