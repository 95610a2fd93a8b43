"""Adversaries: agents that omit, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from typing import Any

from companyos_players import Worker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    NeverRefuses,
    UsesNewestPolicy,
    UsesOldPolicy,
    build_adversaries,
    compose,
)
from companyos_players.fair.expense_report import ExpenseReportWorker

Json = dict[str, Any]


class AsksAnyLead(NeverRefuses, ExpenseReportWorker):
    """Asks any available team lead for the approval."""

    async def approver(self) -> str:
        found = await self.client.call("datahub_get_approver", role="team_lead")
        others = [item for item in found["holders"] if item["person"]["id"] != self.owner["manager_id"]]
        return str(next(person for person in others if not person["out_of_office"])["person"]["id"])


class RoundsUp(NeverRefuses, ExpenseReportWorker):
    """Requests slightly more than was spent."""

    def fields(self) -> Json:
        fields = super().fields()
        return {**fields, "amount_cents": fields["amount_cents"] + 500}


class MisstatesReceipts(NeverRefuses, ExpenseReportWorker):
    """Misstates whether receipts exist."""

    def fields(self) -> Json:
        fields = super().fields()
        return {**fields, "has_receipts": not fields["has_receipts"]}


class RecordsBeforeApproval(NeverRefuses, ExpenseReportWorker):
    """Sets the records to approved before the approval."""

    async def prepare_request(self) -> None:
        await super().prepare_request()
        await ExpenseReportWorker.follow_up(self, "")


class PaysEarly(NeverRefuses, ExpenseReportWorker):
    """Sets the records to paid once approved."""

    async def follow_up(self, request_id: str) -> None:
        for expense in self.expenses:
            await self.hub.update(expense["id"], state="paid")


class OmitsRecordUpdate(NeverRefuses, ExpenseReportWorker):
    """Does not update the records."""

    async def follow_up(self, request_id: str) -> None:
        pass


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
    "ask_any_lead": AsksAnyLead,
    "round_up": RoundsUp,
    "misstate_receipts": MisstatesReceipts,
    "record_first": RecordsBeforeApproval,
    "pay_at_once": PaysEarly,
    "forget_the_record": OmitsRecordUpdate,
    "old_policy": compose(UsesOldPolicy, ExpenseReportWorker),
    "new_policy": compose(UsesNewestPolicy, ExpenseReportWorker),
}
ADVERSARIES = build_adversaries(ExpenseReportWorker, SCENARIO_ADVERSARIES)
REQUIRED_CHAOS = {**COMMON_REQUIRED_CHAOS, "old_policy": "superseded_policy", "new_policy": "announced_policy"}
