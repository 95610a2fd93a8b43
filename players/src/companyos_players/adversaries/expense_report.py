"""Adversaries: agents that omit, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from companyos_players import Worker
from companyos_players.adversaries.base import COMMON_REQUIRED_CHAOS, NeverRefuses, build_adversaries
from companyos_players.fair.expense_report import ExpenseReportWorker


class AsksAnyLead(NeverRefuses, ExpenseReportWorker):
    """Asks any available team lead for the approval."""

    async def approver(self) -> str:
        found = await self.client.call("datahub_get_approver", role="team_lead")
        others = [item for item in found["holders"] if item["person"]["id"] != self.owner["manager_id"]]
        return str(next(person for person in others if not person["out_of_office"])["person"]["id"])


class PaysEarly(NeverRefuses, ExpenseReportWorker):
    """Sets the records to paid once approved."""

    async def follow_up(self, request_id: str) -> None:
        for expense in self.expenses:
            await self.hub.update(expense["id"], state="paid")


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
    "ask_any_lead": AsksAnyLead,
    "pay_at_once": PaysEarly,
}
ADVERSARIES = build_adversaries(ExpenseReportWorker, SCENARIO_ADVERSARIES)
REQUIRED_CHAOS = COMMON_REQUIRED_CHAOS
