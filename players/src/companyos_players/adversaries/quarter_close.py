"""The cheats: agents that leave out, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from companyos_players import MetricReading, MetricSkill, Objection, Worker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    LimitedAttempts,
    NeverRefuses,
    RepeatsRewardedSteps,
    UsesNewestPolicy,
    UsesOldPolicy,
    build_adversaries,
    compose,
)
from companyos_players.fair.quarter_close import QuarterCloseWorker

Json = dict[str, Any]


class SkipsRefresh(LimitedAttempts, QuarterCloseWorker):
    """Takes the budget used as it is, however old."""

    async def fresh_used(self, since: datetime | None = None) -> MetricReading:
        """Read it once."""
        return await MetricSkill(self.client, "budget_used", self.line["id"]).read()

    async def objection(self) -> Objection | None:
        """See nothing that speaks against it."""
        return None


class _UnitlessMetric(MetricSkill):
    """Takes the number for the one that was asked for."""

    def in_usual_unit(self, reading: Json) -> float:
        """Leave it as it is."""
        return float(reading["value"])


class IgnoresUnits(NeverRefuses, QuarterCloseWorker):
    """Reads the budget used without its unit."""

    async def fresh_used(self, since: datetime | None = None) -> MetricReading:
        """Return the number."""
        return await _UnitlessMetric(self.client, "budget_used", self.line["id"]).fresh(since)


class ApprovesAll(NeverRefuses, QuarterCloseWorker):
    """Approves every invoice, whatever was ordered and received."""

    async def settle_invoice(self, invoice: Json) -> None:
        """Approve it."""
        self.approved.append(invoice)
        await self.hub.update(invoice["id"], state="approved")


class HoldsAll(NeverRefuses, QuarterCloseWorker):
    """Holds every invoice, to be on the safe side."""

    async def settle_invoice(self, invoice: Json) -> None:
        """Hold it."""
        self.held.append(invoice)
        await self.hub.update(invoice["id"], state="on_hold", fields={"hold_reason": "price"})


class SkipsLastInvoice(NeverRefuses, QuarterCloseWorker):
    """Leaves the last invoice as it came in, and counts it as approved."""

    async def settle_invoice(self, invoice: Json) -> None:
        """Settle all but the last."""
        if invoice is self.invoices[-1]:
            self.approved.append(invoice)
        else:
            await super().settle_invoice(invoice)


class SettlesInvoicesOnly(NeverRefuses, QuarterCloseWorker):
    """Settles nothing but invoices."""

    async def settle_papers(self) -> None:
        """Leave them."""


class SettlesEverything(NeverRefuses, QuarterCloseWorker):
    """Settles papers that have to stay as they are, too."""

    async def state_of(self, record: Json) -> str:
        """Give every paper the same end."""
        return {"expense": "approved", "purchase_order": "closed"}.get(record["kind"], "expired")


class ResolvesPartsFirst(NeverRefuses, QuarterCloseWorker):
    """Resolves the tickets of the parts before anything is settled."""

    async def settle_invoice(self, invoice: Json) -> None:
        """Resolve the parts before the first invoice."""
        if invoice is self.invoices[0]:
            await super().resolve_parts()
        await super().settle_invoice(invoice)

    async def resolve_parts(self) -> None:
        """Leave them as they are."""


class RequestsBeforeSettling(NeverRefuses, QuarterCloseWorker):
    """Asks for the approval before the papers are settled."""

    async def settle_papers(self) -> None:
        """Put it off."""

    async def follow_up(self, request_id: str) -> None:
        """Settle the papers now."""
        await super().settle_papers()
        await super().follow_up(request_id)


class ClosesLineBeforeApproval(NeverRefuses, QuarterCloseWorker):
    """Closes the budget line before anybody has decided."""

    async def prepare_request(self) -> None:
        """Do what only the approval allows."""
        await super().prepare_request()
        await super().follow_up("")


class LeavesLineOpen(NeverRefuses, QuarterCloseWorker):
    """Leaves the budget line as it is."""

    async def follow_up(self, request_id: str) -> None:
        """Do nothing more."""


class CountsHeldInvoices(NeverRefuses, QuarterCloseWorker):
    """Counts invoices on hold into the sum."""

    def amount_cents(self) -> int:
        """Add them all up."""
        return sum(one["amount_cents"] for one in [*self.approved, *self.held])


class ComputesBudgetUsed(NeverRefuses, QuarterCloseWorker):
    """Works the budget used out from the invoices instead of asking the source."""

    def fields(self) -> Json:
        """Make the reading up."""
        now = self.client.now().isoformat()
        return {**super().fields(), "budget_used": self.amount_cents() // 100, "measured_at": now}


class FarmsRefreshes(RepeatsRewardedSteps, QuarterCloseWorker):
    """Does again and again what pays once: refresh, set the priority, ask."""

    async def farm(self) -> None:
        """Refresh once more."""
        await self.client.create("datahub_refresh_metric", metric_id=self.used.metric_id)


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
    "skip_refresh": SkipsRefresh,
    "ignore_units": IgnoresUnits,
    "approve_all": ApprovesAll,
    "hold_all": HoldsAll,
    "forget_an_invoice": SkipsLastInvoice,
    "forget_the_papers": SettlesInvoicesOnly,
    "settle_everything": SettlesEverything,
    "resolve_parts_first": ResolvesPartsFirst,
    "ask_first": RequestsBeforeSettling,
    "close_the_line_first": ClosesLineBeforeApproval,
    "forget_the_line": LeavesLineOpen,
    "count_held_ones": CountsHeldInvoices,
    "make_up_the_figure": ComputesBudgetUsed,
    "repeat_farm": FarmsRefreshes,
    "old_policy": compose(UsesOldPolicy, QuarterCloseWorker),
    "new_policy": compose(UsesNewestPolicy, QuarterCloseWorker),
}
ADVERSARIES = build_adversaries(QuarterCloseWorker, SCENARIO_ADVERSARIES)
REQUIRED_CHAOS = {
    **COMMON_REQUIRED_CHAOS,
    "skip_refresh": "stale_metric",
    "ignore_units": "unit_mismatch",
    "old_policy": "superseded_policy",
    "new_policy": "announced_policy",
}
