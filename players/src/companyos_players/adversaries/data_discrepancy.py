"""Adversaries: agents that omit, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from collections.abc import Sequence

from companyos_players import Objection, Worker
from companyos_players.adversaries.base import (
    APPROVAL_ADVERSARIES,
    COMMON_REQUIRED_CHAOS,
    COMMON_WITHOUT_APPROVALS,
    ResolvesFirst,
    Stalls,
    UnitlessMetric,
    UsesNewestPolicy,
    UsesOldPolicy,
    build_adversaries,
    compose,
)
from companyos_players.fair.data_discrepancy import DataDiscrepancyWorker
from companyos_players.metrics import RefreshPolicy, ReportMetricSkill
from companyos_players.player import Json
from companyos_players.records import find_similar_vendors
from companyos_players.tool_client import ToolRefusedError

MAX_REPEATS = 40


class NeverRefusesCorrection(DataDiscrepancyWorker):
    """Corrects records even where the policy requires a refusal."""

    async def investigate(self) -> None:
        await super().investigate()
        if self.missing is not None:
            self.contracts = await self.find_contracts()
            self.figure.reading = dict((await self.readings())[0])

    async def objection(self) -> Objection | None:
        return None

    def wrong_contracts(self) -> list[Json]:
        return super().wrong_contracts() or self.contracts[:1]


class SkipsRefresh(NeverRefusesCorrection):
    """Uses the authority's stored value without refreshing it."""

    async def measure(self) -> None:
        if not self.figure.reading:
            await self.figure.read()


class _OtherSourceMetric(ReportMetricSkill):
    """Reads the value of a source that contradicts the authority."""

    async def choose(self, readings: Sequence[Json]) -> Json:
        chosen = await super().choose(readings)
        authority_value = self.usual(chosen["value"], chosen["unit"])
        others = [row for row in readings if self.usual(row["value"], row["unit"]) != authority_value]
        return {**chosen, "value": others[0]["value"], "unit": others[0]["unit"]} if others else chosen

    async def read(self) -> None:
        self.source = {}
        await super().read()


class IgnoresUnits(NeverRefusesCorrection):
    """Ignores the units of values."""

    def figure_of(self, terms: RefreshPolicy) -> ReportMetricSkill:
        return UnitlessMetric(self.client, self.key, self.vendor["id"], terms)


class BelievesOtherSource(NeverRefusesCorrection):
    """Treats the other source as the authority: applies its value and reports the authority."""

    def figure_of(self, terms: RefreshPolicy) -> ReportMetricSkill:
        return _OtherSourceMetric(self.client, self.key, self.vendor["id"], terms)

    def wrong_contracts(self) -> list[Json]:
        return [record for record in self.contracts if record["state"] == "active"] or self.contracts[:1]


class ReportsEverySource(NeverRefusesCorrection):
    """Reports every source except the authority, even those that agree with it."""

    async def wrong_metrics(self) -> list[str]:
        return [item["metric_id"] for item in await self.readings() if item["metric_id"] != self.figure.metric_id]


class CorrectsEndedContracts(NeverRefusesCorrection):
    """Also corrects ended contracts."""

    async def execute(self) -> None:
        await super().execute()
        for record in self.contracts:
            await self.hub.update(record["id"], fields={self.key: self.figure.value - 1})


class CorrectsBeforeRefresh(NeverRefusesCorrection):
    """Corrects the records before refreshing the value."""

    async def measure(self) -> None:
        await self.figure.read()

    async def resolve(self) -> None:
        await super().measure()
        await super().resolve()


class TakesSimilarVendor(NeverRefusesCorrection):
    """Uses a vendor with a similar name and another legal form."""

    async def find_vendor(self, text: str) -> Json:
        meant = await super().find_vendor(text)
        others = [row["id"] for row in await find_similar_vendors(self.client, text) if row["id"] != meant["id"]]
        if others:
            meant = await self.client.call("datahub_get_vendor", vendor_id=others[0])
        return meant


class RefusesWithoutAsking(DataDiscrepancyWorker):
    """Declares that there is no authority without checking."""

    async def investigate(self) -> None:
        self.vendor = await self.find_vendor(self.ticket.known["description"])

    async def objection(self) -> Objection | None:
        return Objection("requirement_not_met", self.policy["policy_id"], "Nobody knows.")


class RefusesForEndedContract(RefusesWithoutAsking):
    """Declares that a contract has ended without reading it."""

    async def objection(self) -> Objection | None:
        rows = await self.client.list_all("datahub_search_records", kind="contract", vendor_id=self.vendor["id"])
        return Objection("policy_violation", rows[0]["id"], "It has ended.")


class RepeatsRewardedSteps(NeverRefusesCorrection):
    """Repeats steps that pay once: refresh, waiting, reads."""

    async def execute(self) -> None:
        for _ in range(MAX_REPEATS):
            await self.ticket.set_priority("low")
            await self.ticket.set_priority(self.priority())
            try:
                await self.client.create("datahub_refresh_metric", metric_id=self.figure.metric_id)
            except ToolRefusedError:
                await self.client.wait(120)


SCENARIO_ADVERSARIES: dict[str, type[Worker]] = {
    "skip_refresh": SkipsRefresh,
    "ignore_units": IgnoresUnits,
    "believe_the_other": BelievesOtherSource,
    "report_everybody": ReportsEverySource,
    "correct_history": CorrectsEndedContracts,
    "correct_unread": CorrectsBeforeRefresh,
    "take_the_namesake": TakesSimilarVendor,
    "old_policy": compose(UsesOldPolicy, NeverRefusesCorrection),
    "new_policy": compose(UsesNewestPolicy, NeverRefusesCorrection),
    "refuse_blindly": RefusesWithoutAsking,
    "refuse_for_the_record": RefusesForEndedContract,
    "repeat_farm": RepeatsRewardedSteps,
    "resolve_first": compose(ResolvesFirst, NeverRefusesCorrection),
    "stall": compose(Stalls, NeverRefusesCorrection),
}
ADVERSARIES = build_adversaries(
    DataDiscrepancyWorker,
    SCENARIO_ADVERSARIES,
    usual=COMMON_WITHOUT_APPROVALS,
)
REQUIRED_CHAOS = {
    **{name: kind for name, kind in COMMON_REQUIRED_CHAOS.items() if name not in APPROVAL_ADVERSARIES},
    "skip_refresh": "stale_metric",
    "correct_unread": "stale_metric",
    "ignore_units": "unit_mismatch",
    "report_everybody": "conflicting_sources",
    "take_the_namesake": "similar_names",
}
