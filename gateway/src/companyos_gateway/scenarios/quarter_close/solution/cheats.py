"""The cheats: agents that leave out, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from companyos_gateway.scenarios.quarter_close.solution.fair import Closer
from companyos_gateway.scenarios.skills import Measured, MeasureSkill, Objection, Worker
from companyos_gateway.scenarios.skills.cheating import (
    USUAL_NEEDS,
    FarmsRepeats,
    Limited,
    NeverRefuses,
    NewPolicy,
    OldPolicy,
    cheats_of,
    laid_over,
)

Json = dict[str, Any]


class SkipsRefresh(Limited, Closer):
    """Takes the budget used as it is, however old."""

    async def fresh_used(self, since: datetime | None = None) -> Measured:
        """Read it once."""
        return await MeasureSkill(self.hands, "budget_used", self.line["id"]).read()

    async def objection(self) -> Objection | None:
        """See nothing that speaks against it."""
        return None


class _Number(MeasureSkill):
    """Takes the number for the one that was asked for."""

    def in_usual_unit(self, reading: Json) -> float:
        """Leave it as it is."""
        return float(reading["value"])


class IgnoresUnits(NeverRefuses, Closer):
    """Reads the budget used without its unit."""

    async def fresh_used(self, since: datetime | None = None) -> Measured:
        """Return the number."""
        return await _Number(self.hands, "budget_used", self.line["id"]).fresh(since)


class ApprovesAll(NeverRefuses, Closer):
    """Approves every invoice, whatever was ordered and received."""

    async def settle_invoice(self, invoice: Json) -> None:
        """Approve it."""
        self.approved.append(invoice)
        await self.hub.change(invoice["id"], state="approved")


class HoldsAll(NeverRefuses, Closer):
    """Holds every invoice, to be on the safe side."""

    async def settle_invoice(self, invoice: Json) -> None:
        """Hold it."""
        self.held.append(invoice)
        await self.hub.change(invoice["id"], state="on_hold", fields={"hold_reason": "price"})


class ForgetsAnInvoice(NeverRefuses, Closer):
    """Leaves the last invoice as it came in, and counts it as approved."""

    async def settle_invoice(self, invoice: Json) -> None:
        """Settle all but the last."""
        if invoice is self.invoices[-1]:
            self.approved.append(invoice)
        else:
            await super().settle_invoice(invoice)


class ForgetsThePapers(NeverRefuses, Closer):
    """Settles nothing but invoices."""

    async def settle_papers(self) -> None:
        """Leave them."""


class SettlesEverything(NeverRefuses, Closer):
    """Settles papers that have to stay as they are, too."""

    async def state_of(self, record: Json) -> str:
        """Give every paper the same end."""
        return {"expense": "approved", "purchase_order": "closed"}.get(record["kind"], "expired")


class ResolvesPartsFirst(NeverRefuses, Closer):
    """Resolves the tickets of the parts before anything is settled."""

    async def settle_invoice(self, invoice: Json) -> None:
        """Resolve the parts before the first invoice."""
        if invoice is self.invoices[0]:
            await super().resolve_parts()
        await super().settle_invoice(invoice)

    async def resolve_parts(self) -> None:
        """Leave them as they are."""


class AsksFirst(NeverRefuses, Closer):
    """Asks for the approval before the papers are settled."""

    async def settle_papers(self) -> None:
        """Put it off."""

    async def follow_up(self, request_id: str) -> None:
        """Settle the papers now."""
        await super().settle_papers()
        await super().follow_up(request_id)


class ClosesTheLineFirst(NeverRefuses, Closer):
    """Closes the budget line before anybody has decided."""

    async def prepare_request(self) -> None:
        """Do what only the approval allows."""
        await super().prepare_request()
        await super().follow_up("")


class ForgetsTheLine(NeverRefuses, Closer):
    """Leaves the budget line as it is."""

    async def follow_up(self, request_id: str) -> None:
        """Do nothing more."""


class CountsHeldOnes(NeverRefuses, Closer):
    """Counts invoices on hold into the sum."""

    def amount_cents(self) -> int:
        """Add them all up."""
        return sum(one["amount_cents"] for one in [*self.approved, *self.held])


class MakesUpTheFigure(NeverRefuses, Closer):
    """Works the budget used out from the invoices instead of asking the source."""

    def fields(self) -> Json:
        """Make the reading up."""
        now = self.hands.now().isoformat()
        return {**super().fields(), "budget_used": self.amount_cents() // 100, "measured_at": now}


class FarmsRefreshes(FarmsRepeats, Closer):
    """Does again and again what pays once: refresh, set the priority, ask."""

    async def farm(self) -> None:
        """Refresh once more."""
        await self.hands.make("datahub_refresh_metric", metric_id=self.used.metric_id)


OWN: dict[str, type[Worker]] = {
    "skip_refresh": SkipsRefresh,
    "ignore_units": IgnoresUnits,
    "approve_all": ApprovesAll,
    "hold_all": HoldsAll,
    "forget_an_invoice": ForgetsAnInvoice,
    "forget_the_papers": ForgetsThePapers,
    "settle_everything": SettlesEverything,
    "resolve_parts_first": ResolvesPartsFirst,
    "ask_first": AsksFirst,
    "close_the_line_first": ClosesTheLineFirst,
    "forget_the_line": ForgetsTheLine,
    "count_held_ones": CountsHeldOnes,
    "make_up_the_figure": MakesUpTheFigure,
    "repeat_farm": FarmsRefreshes,
    "old_policy": laid_over(OldPolicy, Closer),
    "new_policy": laid_over(NewPolicy, Closer),
}
CHEATS = cheats_of(Closer, OWN)
NEEDS = {
    **USUAL_NEEDS,
    "skip_refresh": "stale_metric",
    "ignore_units": "unit_mismatch",
    "old_policy": "superseded_policy",
    "new_policy": "announced_policy",
}
