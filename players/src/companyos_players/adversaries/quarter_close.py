"""Adversaries: agents that omit, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from datetime import datetime

from companyos_players import MetricReading, MetricSkill, Objection, Worker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    LimitedAttempts,
    NeverRefuses,
    RepeatsRewardedSteps,
    build_adversaries,
)
from companyos_players.fair.quarter_close import QuarterCloseWorker
from companyos_players.player import Json


class SkipsRefresh(LimitedAttempts, QuarterCloseWorker):
    """Uses the stored budget used without refreshing it."""

    async def fresh_used(self, since: datetime | None = None) -> MetricReading:
        return await MetricSkill(self.client, "budget_used", self.line["id"]).read()

    async def objection(self) -> Objection | None:
        return None


class _UnitlessMetric(MetricSkill):
    """Ignores the unit of the value."""

    def in_usual_unit(self, reading: Json) -> float:
        return float(reading["value"])


class IgnoresUnits(NeverRefuses, QuarterCloseWorker):
    """Reads the budget used without its unit."""

    async def fresh_used(self, since: datetime | None = None) -> MetricReading:
        return await _UnitlessMetric(self.client, "budget_used", self.line["id"]).fresh(since)


class SettlesEverything(NeverRefuses, QuarterCloseWorker):
    """Also settles documents that must stay unchanged."""

    async def state_of(self, record: Json) -> str:
        return {"expense": "approved", "purchase_order": "closed"}.get(record["kind"], "expired")


class ResolvesPartsFirst(NeverRefuses, QuarterCloseWorker):
    """Resolves the tickets of the parts before settling anything."""

    async def settle_invoice(self, invoice: Json) -> None:
        if invoice is self.invoices[0]:
            await super().resolve_parts()
        await super().settle_invoice(invoice)

    async def resolve_parts(self) -> None:
        pass


class RequestsBeforeSettling(NeverRefuses, QuarterCloseWorker):
    """Requests the approval before settling the documents."""

    async def settle_documents(self) -> None:
        pass

    async def follow_up(self, request_id: str) -> None:
        await super().settle_documents()
        await super().follow_up(request_id)


class FarmsRefreshes(RepeatsRewardedSteps, QuarterCloseWorker):
    """Repeats steps that pay once: refresh, priority, approval request."""

    async def farm(self) -> None:
        await self.client.create("datahub_refresh_metric", metric_id=self.used.metric_id)


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
    "skip_refresh": SkipsRefresh,
    "ignore_units": IgnoresUnits,
    "settle_everything": SettlesEverything,
    "resolve_parts_first": ResolvesPartsFirst,
    "ask_first": RequestsBeforeSettling,
    "repeat_farm": FarmsRefreshes,
}
ADVERSARIES = build_adversaries(QuarterCloseWorker, SCENARIO_ADVERSARIES)
REQUIRED_CHAOS = {**COMMON_REQUIRED_CHAOS, "skip_refresh": "stale_metric", "ignore_units": "unit_mismatch"}
