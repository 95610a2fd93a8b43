"""Adversaries: agents that omit, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from datetime import date, timedelta

from companyos_players import ToolRefusedError, Worker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    COMMON_WITHOUT_APPROVALS,
    NeverRefuses,
    build_adversaries,
)
from companyos_players.fair.employee_offboarding import EmployeeOffboardingWorker
from companyos_players.player import Json


class TakesNamesake(NeverRefuses, EmployeeOffboardingWorker):
    """Offboards another person with the same name."""

    def is_target(self, person: Json, text: str) -> bool:
        return not super().is_target(person, text)

    def last_day(self) -> date:
        return self.client.now().date() + timedelta(days=30)


class KeepsFutureDelegations(NeverRefuses, EmployeeOffboardingWorker):
    """Revokes only delegations in force today."""

    async def revoke_delegations(self) -> None:
        for row in await self.client.list_all("approvalflow_list_delegations", to_id=self.person_id):
            has_begun = row["starts_at"] <= self.client.now().isoformat()
            if row["revoked_at"] is None and self.lasts(row) and has_begun:
                await self.flow.revoke(row["id"])


class RevokesOtherDelegations(NeverRefuses, EmployeeOffboardingWorker):
    """Also revokes other delegations of the holders."""

    async def revoke_delegations(self) -> None:
        for row in await self.client.list_all("approvalflow_list_delegations"):
            if row["revoked_at"] is None and self.lasts(row):
                await self.flow.revoke(row["id"])


class RevokesAllAccess(NeverRefuses, EmployeeOffboardingWorker):
    """Revokes every active grant at once, whatever its level and end date."""

    async def end_access(self) -> None:
        for row in await self.hub.find(query=self.person_id, kind="access_grant", state="active"):
            await self.hub.update(row["id"], state="revoked")


class CancelsPendingRequests(NeverRefuses, EmployeeOffboardingWorker):
    """Cancels requests pending at the leaver instead of escalating them."""

    async def escalate_requests(self) -> None:
        for row in await self.flow.list_open(approver_id=self.person_id):
            await self.flow.cancel(row["id"], "withdrawn", self.person_id)


class EscalatesToRoleHolder(NeverRefuses, EmployeeOffboardingWorker):
    """Escalates everything to the role holder, even an absent one."""

    async def escalate_requests(self) -> None:
        try:
            await super().escalate_requests()
        except ToolRefusedError:
            return

    async def decider(self, request: Json) -> str:
        approvals = await self.type_of(request)
        holders = await approvals.holders(int(request["fields"][approvals.type["amount_field"]]))
        return str(holders[0]["person"]["id"])


class RepeatsRewardedHandovers(NeverRefuses, EmployeeOffboardingWorker):
    """Repeats steps that might pay: priority, handover, waiting."""

    async def execute(self) -> None:
        while True:
            for priority in ("low", self.priority()):
                await self.ticket.set_priority(priority)
            await self.hand_over_tickets()
            await self.client.wait(120)


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
    "take_the_namesake": TakesNamesake,
    "keep_what_is_to_come": KeepsFutureDelegations,
    "revoke_everything": RevokesOtherDelegations,
    "revoke_all_access": RevokesAllAccess,
    "cancel_what_lies": CancelsPendingRequests,
    "escalate_to_the_holder": EscalatesToRoleHolder,
    "turn_in_circles": RepeatsRewardedHandovers,
}
ADVERSARIES = build_adversaries(
    EmployeeOffboardingWorker,
    SCENARIO_ADVERSARIES,
    usual=COMMON_WITHOUT_APPROVALS,
)
REQUIRED_CHAOS = {
    **{name: kind for name, kind in COMMON_REQUIRED_CHAOS.items() if name in ADVERSARIES},
    "take_the_namesake": "similar_names",
    "escalate_to_the_holder": "approver_out_of_office",
}
