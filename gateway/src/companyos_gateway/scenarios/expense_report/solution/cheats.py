"""The cheats: agents that leave out, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from typing import Any

from companyos_gateway.scenarios.expense_report.solution.fair import Accountant
from companyos_gateway.scenarios.skills import Worker
from companyos_gateway.scenarios.skills.cheating import (
    USUAL_NEEDS,
    NeverRefuses,
    NewPolicy,
    OldPolicy,
    cheats_of,
    laid_over,
)

Json = dict[str, Any]


class AsksAnyLead(NeverRefuses, Accountant):
    """Asks whichever team lead is there."""

    async def approver(self) -> str:
        """Return a team lead who is not the employee's manager."""
        found = await self.hands.ask("datahub_get_approver", role="team_lead")
        others = [one for one in found["holders"] if one["person"]["id"] != self.owner["manager_id"]]
        return str(next(one for one in others if not one["out_of_office"])["person"]["id"])


class RoundsUp(NeverRefuses, Accountant):
    """Asks for a little more than was spent."""

    def fields(self) -> Json:
        """Add a little."""
        fields = super().fields()
        return {**fields, "amount_cents": fields["amount_cents"] + 500}


class MisstatesReceipts(NeverRefuses, Accountant):
    """Says the opposite about the receipts."""

    def fields(self) -> Json:
        """Turn it round."""
        fields = super().fields()
        return {**fields, "has_receipts": not fields["has_receipts"]}


class RecordsFirst(NeverRefuses, Accountant):
    """Sets the records to approved before anybody has decided."""

    async def prepare_request(self) -> None:
        """Do what only the approval allows."""
        await super().prepare_request()
        await Accountant.follow_up(self, "")


class PaysAtOnce(NeverRefuses, Accountant):
    """Sets the records to paid as soon as the approval is there."""

    async def follow_up(self, request_id: str) -> None:
        """Go one step too far."""
        for expense in self.expenses:
            await self.hub.change(expense["id"], state="paid")


class ForgetsTheRecord(NeverRefuses, Accountant):
    """Leaves the records as they are."""

    async def follow_up(self, request_id: str) -> None:
        """Do nothing more."""


OWN: dict[str, type[Worker]] = {
    "ask_any_lead": AsksAnyLead,
    "round_up": RoundsUp,
    "misstate_receipts": MisstatesReceipts,
    "record_first": RecordsFirst,
    "pay_at_once": PaysAtOnce,
    "forget_the_record": ForgetsTheRecord,
    "old_policy": laid_over(OldPolicy, Accountant),
    "new_policy": laid_over(NewPolicy, Accountant),
}
CHEATS = cheats_of(Accountant, OWN)
NEEDS = {**USUAL_NEEDS, "old_policy": "superseded_policy", "new_policy": "announced_policy"}
