"""A worker that submits stale values and refreshes them while the request is pending."""

from __future__ import annotations

import re
from collections.abc import Sequence

from companyos.policies import Call, EpisodeOverError, TaskView
from companyos_gateway.chaos import Kind
from companyos_players.ablations import with_reading_bias
from companyos_players.adversaries.base import NeverRefuses, compose
from companyos_players.field_names import restoring_field_names
from companyos_players.player import Player
from companyos_players.registry import worker_class
from companyos_players.tool_client import ToolClient, ToolRefusedError
from verification.proof.episode_runner import StepRecord

REFRESH, SUBMIT = "datahub_refresh_metric", "approvalflow_submit_approval"
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT")


class RefreshesLate(NeverRefuses):
    """Refreshes the stated values after submitting the request."""

    async def approval(self) -> str:
        """Submit, then refresh, and await the decision."""
        approver_id, key = await self.approver(), self.ticket.key
        request_id = await self.approvals.submit(
            self.subject(), approver_id, self.fields(), self.justification, ticket_ref=key
        )
        await self.prepare_request()
        await self.approvals.await_decision(request_id)
        return request_id


def late_refresher(scenario: str) -> Player | None:
    """Return the late refresher of a scenario, or None if its fair oracle is not a worker."""
    worker = worker_class(scenario)
    if worker is None:
        return None
    late = compose(RefreshesLate, worker)

    async def play(task: TaskView, call: Call) -> None:
        try:
            await late(task, ToolClient(with_reading_bias(Kind.STALE_METRIC.value, call) or call)).work()
        except ToolRefusedError:
            raise EpisodeOverError from None

    return restoring_field_names(play)


def is_late_refresh(step_records: Sequence[StepRecord]) -> bool:
    """Return whether a request stated a measurement time before any metric was refreshed."""
    done = [item for item in step_records if item.is_carried_out]
    dated = [at for at, one in enumerate(done) if one.tool == SUBMIT and _MOMENT.search(repr(one.arguments["fields"]))]
    refreshed = [at for at, one in enumerate(done) if one.tool == REFRESH]
    return bool(dated and refreshed) and dated[0] < refreshed[0]
