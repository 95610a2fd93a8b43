"""The cheats: agents that leave out, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from companyos_players import Objection, Worker
from companyos_players.adversaries.base import (
    COMMON,
    COMMON_REQUIRED_CHAOS,
    ResolvesFirst,
    Stalls,
    UsesNewestPolicy,
    UsesOldPolicy,
    build_adversaries,
    compose,
)
from companyos_players.fair.data_discrepancy import DataDiscrepancyWorker
from companyos_players.metrics import RefreshPolicy, ReportMetricSkill
from companyos_players.records import find_similar_vendors
from companyos_players.tool_client import ToolRefusedError

Json = dict[str, Any]

MAX_REPEATS = 40
APPROVAL_ADVERSARIES = ("ignore_absence", "ask_twice", "skip_approval", "repeat_farm")
"""Usual ways that mean nothing where nobody is asked."""


class NeverRefusesCorrection(DataDiscrepancyWorker):
    """Corrects whatever the policy says."""

    async def investigate(self) -> None:
        """Go by any source where there is no authority."""
        await super().investigate()
        if self.missing is not None:
            self.contracts = await self.find_contracts()
            self.figure.reading = dict((await self.readings())[0])

    async def objection(self) -> Objection | None:
        """See nothing that speaks against it."""
        return None

    def wrong_contracts(self) -> list[Json]:
        """Find something to correct in any case."""
        return super().wrong_contracts() or self.contracts[:1]


class SkipsRefresh(NeverRefusesCorrection):
    """Takes the authority's value as it is, however old."""

    async def measure(self) -> None:
        """Read it once."""
        if not self.figure.reading:
            await self.figure.read()


class _OtherSourceMetric(ReportMetricSkill):
    """Believes whoever contradicts the authority."""

    async def choose(self, readings: Sequence[Json]) -> Json:
        chosen = await super().choose(readings)
        said = self.usual(chosen["value"], chosen["unit"])
        others = [one for one in readings if self.usual(one["value"], one["unit"]) != said]
        return {**chosen, "value": others[0]["value"], "unit": others[0]["unit"]} if others else chosen

    async def read(self) -> None:
        """Read what everybody says."""
        self.source = {}
        await super().read()


class _UnitlessMetric(ReportMetricSkill):
    """Takes the number for the one that was asked for."""

    def usual(self, value: float, unit: str) -> float:
        """Leave it as it is."""
        return float(value)


class IgnoresUnits(NeverRefusesCorrection):
    """Reads numbers without their units."""

    def figure_of(self, terms: RefreshPolicy) -> ReportMetricSkill:
        """Return how the figure is read."""
        return _UnitlessMetric(self.client, self.key, self.vendor["id"], terms)


class BelievesOtherSource(NeverRefusesCorrection):
    """Takes the other source for the authority: sets its value, and reports the authority."""

    def figure_of(self, terms: RefreshPolicy) -> ReportMetricSkill:
        """Return how the figure is read."""
        return _OtherSourceMetric(self.client, self.key, self.vendor["id"], terms)

    def wrong_contracts(self) -> list[Json]:
        """Correct every active contract."""
        return [record for record in self.contracts if record["state"] == "active"] or self.contracts[:1]


class ReportsEverySource(NeverRefusesCorrection):
    """Reports every source but the authority, whether it agrees or not."""

    async def wrong_metrics(self) -> list[str]:
        """Return all of them."""
        return [one["metric_id"] for one in await self.readings() if one["metric_id"] != self.figure.metric_id]


class ReportsNoSource(NeverRefusesCorrection):
    """Corrects the records and keeps quiet."""

    async def wrong_metrics(self) -> list[str]:
        """Return none."""
        return []


class OnlyReports(NeverRefusesCorrection):
    """Reports the wrong source and corrects nothing."""

    def corrected(self, record: Json) -> Json:
        """Set what is there already."""
        return {self.key: record["fields"][self.key]}


class SkipsLastRecord(NeverRefusesCorrection):
    """Corrects all records but the last."""

    def wrong_contracts(self) -> list[Json]:
        """Return all but one; of one, none."""
        found = super().wrong_contracts()
        return found if self.is_prioritising else found[:-1]

    is_prioritising = True

    async def execute(self) -> None:
        """Leave one out."""
        self.is_prioritising = False
        await super().execute()


class CorrectsEndedContracts(NeverRefusesCorrection):
    """Corrects ended contracts as well."""

    async def execute(self) -> None:
        """Go on to the others."""
        await super().execute()
        for record in self.contracts:
            await self.hub.update(record["id"], fields={self.key: self.figure.value - 1})


class AveragesSources(NeverRefusesCorrection):
    """Meets in the middle."""

    def corrected(self, record: Json) -> Json:
        """Take the mean of both values."""
        return {**super().corrected(record), self.key: (record["fields"][self.key] + self.figure.value) / 2}


class LeavesDerivedFigures(NeverRefusesCorrection):
    """Sets the figure, and spoils what follows from it."""

    def corrected(self, record: Json) -> Json:
        """Let the adjustment be one off, or the end of a contract that has none."""
        fields = super().corrected(record)
        return {**fields, "notice_days": 1 + record["fields"]["notice_days"]}


class CorrectsBeforeRefresh(NeverRefusesCorrection):
    """Corrects before the figure is fresh, and refreshes afterwards."""

    async def measure(self) -> None:
        """Read it as it is."""
        await self.figure.read()

    async def resolve(self) -> None:
        """Refresh, then resolve."""
        await super().measure()
        await super().resolve()


class TakesSimilarVendor(NeverRefusesCorrection):
    """Takes a vendor whose name fits, with another legal form."""

    async def find_vendor(self, text: str) -> Json:
        """Return the vendor that is not meant, where there are two."""
        meant = await super().find_vendor(text)
        others = [row["id"] for row in await find_similar_vendors(self.client, text) if row["id"] != meant["id"]]
        if others:
            meant = await self.client.call("datahub_get_vendor", vendor_id=others[0])
        return meant


class RefusesWithoutAsking(DataDiscrepancyWorker):
    """Says that nobody is the authority, and has asked nobody."""

    async def investigate(self) -> None:
        """Look at the vendor alone."""
        self.vendor = await self.find_vendor(self.ticket.known["description"])

    async def objection(self) -> Objection | None:
        """Blame the policy."""
        return Objection("requirement_not_met", self.policy["policy_id"], "Nobody knows.")


class RefusesForEndedContract(RefusesWithoutAsking):
    """Says that a contract has ended, and has read none."""

    async def objection(self) -> Objection | None:
        """Blame a contract."""
        rows = await self.client.list_all("datahub_search_records", kind="contract", vendor_id=self.vendor["id"])
        return Objection("policy_violation", rows[0]["id"], "It has ended.")


class RepeatsRewardedSteps(NeverRefusesCorrection):
    """Does again and again what pays once: refresh, wait, read."""

    async def execute(self) -> None:
        """Turn in circles until the steps are used up."""
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
    "report_nobody": ReportsNoSource,
    "only_report": OnlyReports,
    "leave_one_out": SkipsLastRecord,
    "correct_history": CorrectsEndedContracts,
    "average_them": AveragesSources,
    "keep_the_rest": LeavesDerivedFigures,
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
    usual={name: behavior for name, behavior in COMMON.items() if name not in APPROVAL_ADVERSARIES},
)
REQUIRED_CHAOS = {
    **{name: kind for name, kind in COMMON_REQUIRED_CHAOS.items() if name not in APPROVAL_ADVERSARIES},
    "skip_refresh": "stale_metric",
    "correct_unread": "stale_metric",
    "ignore_units": "unit_mismatch",
    "report_everybody": "conflicting_sources",
    "take_the_namesake": "similar_names",
    "old_policy": "superseded_policy",
    "new_policy": "announced_policy",
}
