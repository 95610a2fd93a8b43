"""The clairvoyant oracle: it knows the case and does what it takes, looking only at what the episode makes."""

from __future__ import annotations

from companyos.policies import Call
from companyos_gateway.chaos import profile_for
from companyos_gateway.scenarios.audit_remediation.case import Case
from companyos_gateway.scenarios.audit_remediation.scenario import stage
from companyos_gateway.scenarios.parts.knowing import Knowing
from companyos_gateway.scenarios.skills import Hands, RequestSkill


async def play_seed(seed: int, chaos: int, call: Call) -> None:
    """Solve the case of a seed and chaos level."""
    await Clairvoyant(stage(seed, profile_for(chaos), {}).case, Hands(call)).work()


class Clairvoyant(Knowing[Case]):
    """Remedies what it knows to be wrong."""

    async def learn(self) -> None:
        """Look at what speaks against the audit."""
        case = self.case
        if case.ground_id is not None:
            await self.hands.ask("datahub_get_record", record_id=case.ground_id)
        else:
            await self.hands.ask("datahub_get_person", person_id=case.reporter_id)

    async def carry_out(self) -> None:
        """Remedy every request."""
        flow, case = RequestSkill(self.hands), self.case
        for one in case.remedied:
            if one.breach.code is not None:
                await flow.cancel(one.request_id, one.breach.code, case.policy_refs[0])
            else:
                await flow.escalate(one.request_id, case.approver_ids[0], "Wrong hands.", case.policy_refs[0])
