"""Who asks with what is known, however old, and has it measured anew while the request is out."""

from __future__ import annotations

import re
from collections.abc import Sequence

from companyos.policies import Call, EpisodeOver, TaskView
from companyos_gateway.chaos import Kind
from companyos_gateway.proof.playing import Act, Player
from companyos_gateway.scenarios.policy import reader
from companyos_gateway.scenarios.skills.cheating import NeverRefuses, laid_over
from companyos_gateway.scenarios.skills.hands import Hands, Refused
from companyos_gateway.scenarios.skills.skipping import believing
from companyos_gateway.scenarios.solutions import worker_of

REFRESH, SUBMIT = "datahub_refresh_metric", "approvalflow_submit_approval"
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT")


class RefreshesLate(NeverRefuses):
    """Brings up to date what a request says once the request is made."""

    async def approval(self) -> str:
        """Ask, then refresh, and take what comes."""
        approver_id, key = await self.approver(), self.ticket.key
        request_id = await self.approvals.submit(
            self.subject(), approver_id, self.fields(), self.justification, ticket_ref=key
        )
        await self.prepare_request()
        await self.approvals.decision(request_id)
        return request_id


def refreshes_late(scenario: str) -> Player | None:
    """Return who refreshes too late in a scenario, None where its fair solution is no worker that can be bent."""
    worker = worker_of(scenario)
    if worker is None:
        return None
    late = laid_over(RefreshesLate, worker)

    async def play(task: TaskView, call: Call) -> None:
        try:
            await late(task, Hands(believing(Kind.STALE_METRIC.value, call) or call)).work()
        except Refused:
            raise EpisodeOver from None

    return reader(play)


def was_late(acts: Sequence[Act]) -> bool:
    """Say whether a request said when its value was measured, and nothing but what came after it was a refresh."""
    done = [one for one in acts if one.is_carried_out]
    dated = [at for at, one in enumerate(done) if one.tool == SUBMIT and _MOMENT.search(repr(one.arguments["fields"]))]
    refreshed = [at for at, one in enumerate(done) if one.tool == REFRESH]
    return bool(dated and refreshed) and dated[0] < refreshed[0]
