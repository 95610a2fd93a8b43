"""The clairvoyant oracle: it knows the instance and reads only data that the episode creates."""

from __future__ import annotations

from companyos_gateway.scenarios.employee_offboarding.case import Case, HandedOverTicket
from companyos_players import RecordSkill, RequestSkill, TicketSkill, ToolRefusedError
from verification.privileged.oracle import PrivilegedOracle


class EmployeeOffboardingPrivilegedOracle(PrivilegedOracle[Case]):
    """Offboards a known leaver."""

    async def learn(self) -> None:
        """Read the evidence for a refusal."""
        case = self.case
        if case.ground_id is not None:
            await self.client.call("datahub_get_record", record_id=case.ground_id)
        else:
            await self.client.call("datahub_get_person", person_id=case.person_id)

    async def execute(self) -> None:
        """Hand over and end everything."""
        case, flow, hub = self.case, RequestSkill(self.client), RecordSkill(self.client)
        assert case.last_day is not None
        for ticket in case.tickets:
            await self.hand_over(ticket)
        for request_id in case.cancelled_ids:
            await flow.cancel(request_id, "withdrawn", case.person_id)
        for request in case.escalated:
            await flow.escalate(request.request_id, case.approver_ids[0], "They leave.", case.person_id)
        for delegation_id in case.delegation_ids:
            await flow.revoke(delegation_id, to_id=case.person_id)
        for record_id in case.revoked_ids:
            await hub.update(record_id, state="revoked")
        for record_id in case.ended_ids:
            await hub.update(record_id, ends_on=case.last_day.isoformat())

    async def hand_over(self, ticket: HandedOverTicket) -> None:
        """Assign the first person present on the due date."""
        for person_id in ticket.assignee_ids:
            try:
                await TicketSkill(self.client, ticket.key).assign(person_id)
            except ToolRefusedError:
                continue
            return


ORACLE = EmployeeOffboardingPrivilegedOracle
