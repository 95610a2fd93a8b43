"""The clairvoyant oracle: it knows the instance and reads only data that the episode creates."""

from __future__ import annotations

from companyos_gateway.scenarios.audit_remediation.case import Case
from companyos_players import RequestSkill
from verification.privileged.oracle import PrivilegedOracle


class AuditRemediationPrivilegedOracle(PrivilegedOracle[Case]):
    """Remedies known findings."""

    async def learn(self) -> None:
        """Read the evidence against the audit."""
        case = self.case
        if case.ground_id is not None:
            await self.client.call("datahub_get_record", record_id=case.ground_id)
        else:
            await self.client.call("datahub_get_person", person_id=case.reporter_id)

    async def execute(self) -> None:
        """Remedy every request."""
        flow, case = RequestSkill(self.client), self.case
        for request in case.remedied_requests:
            if request.breach.code is not None:
                await flow.cancel(request.request_id, request.breach.code, case.policy_refs[0])
            else:
                await flow.escalate(request.request_id, case.approver_ids[0], "Wrong hands.", case.policy_refs[0])


ORACLE = AuditRemediationPrivilegedOracle
