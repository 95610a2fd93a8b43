"""The clairvoyant oracle: it knows the instance and reads only data that the episode creates."""

from __future__ import annotations

from typing import Any

from companyos_gateway.scenarios.bug_escalation.case import METRIC_KEY, TYPE_KEY, Case
from verification.privileged.oracle import PrivilegedOracle


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


ORACLE = BugEscalationPrivilegedOracle
