"""The clairvoyant oracle: it knows the instance and reads only data that the episode creates."""

from __future__ import annotations

from typing import Any

from companyos.policies import Call
from companyos_gateway.chaos import profile_for
from companyos_gateway.scenarios.bug_escalation.case import METRIC_KEY, TYPE_KEY, Case
from companyos_gateway.scenarios.bug_escalation.scenario import build
from companyos_players import ToolClient
from verification.privileged.oracle import PrivilegedOracle


async def play_seed(seed: int, chaos: int, call: Call) -> None:
    """Solve the instance of a seed and chaos level."""
    await BugEscalationPrivilegedOracle(build(seed, profile_for(chaos), {}).case, ToolClient(call)).work()


class BugEscalationPrivilegedOracle(PrivilegedOracle[Case]):
    """Escalates a known bug."""

    type_key = TYPE_KEY

    async def learn(self) -> None:
        """Read the rate."""
        await self.fields()

    def subject(self) -> str:
        """Return the ticket's key."""
        return self.case.ticket_key

    async def fields(self) -> dict[str, Any]:
        """Return the fields of the request with the current rate."""
        case = self.case
        reading = await self.fresh(case.rate, key=METRIC_KEY, subject=case.service)
        runbook = {} if case.runbook_id is None else {"runbook_id": case.runbook_id}
        return {"service": case.service, METRIC_KEY: reading["value"], "measured_at": reading["as_of"], **runbook}
