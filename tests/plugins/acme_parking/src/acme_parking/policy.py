"""A policy that solves the scenario."""

from __future__ import annotations

from typing import Any

from companyos.policies import Call, StepView, TaskView

MAX_ATTEMPTS = 5


class ParkingClerk:
    """Issues the permit that is requested."""

    name = "parking_clerk"

    async def play(self, task: TaskView, call: Call) -> None:
        """Play one episode."""
        listed = await _retry(call, "parking_list_permits", {})
        requested = next(permit["id"] for permit in listed.result["items"] if permit["status"] == "requested")
        await _retry(call, "parking_issue_permit", {"permit_id": requested})


async def _retry(call: Call, tool: str, arguments: dict[str, Any]) -> StepView:
    for _ in range(MAX_ATTEMPTS):
        view = await call(tool, arguments)
        if not view.is_refused:
            break
        if seconds := view.result.get("retry_after_s"):
            await call("wait", {"minutes": seconds // 60 + 1})
    return view
