"""The players of data discrepancies: the fair oracle, and adversaries that omit, invent or overdo something."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from companyos_players import (
    Json,
    MetricUnavailableError,
    Objection,
    RefreshPolicy,
    ReportMetricSkill,
    ToolRefusedError,
    Worker,
    find_vendor,
    refresh_until_fresh,
)
from companyos_players.adversaries.base import (
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
from companyos_players.records import find_similar_vendors

POLICY_WORDS = "discrepancies disagree sources"
POLICY_TOPIC = "data quality"
DERIVED = "adjustment_percent"
MAX_FAILURES = 99
"""Maximum failed refreshes; the policy sets no limit."""


class DataDiscrepancyWorker(Worker):
    """Handles one discrepancy. Adversaries override single methods."""

    async def read_context(self) -> None:
        """Read the ticket and the policy in force."""
        await self.ticket.read()
        found = await self.client.call("datahub_search_policies", query=POLICY_WORDS)
        policy_id = next(row["policy_id"] for row in found["items"] if row["topic"] == POLICY_TOPIC)
        self.policy = await self.client.call("datahub_get_policy", policy_id=policy_id)

    async def investigate(self) -> None:
        """Find the vendor, the metric, the contracts that use it, and the correct value."""
        text = f"{self.ticket.known['title']} {self.ticket.known['description']}".partition("\n\n")[0]
        self.vendor = await self.find_vendor(self.ticket.known["description"].partition("\n\n")[0])
        rows = await self.client.list_all("datahub_list_metrics", subject=self.vendor["id"])
        self.key = next(row["key"] for row in rows if row["key"].partition("_")[0] in text.lower())
        due_at = datetime.fromisoformat(self.ticket.known["due_at"])
        terms = RefreshPolicy(due_at, MAX_FAILURES, self.policy["policy_id"])
        self.figure = self.figure_of(terms)
        self.missing: MetricUnavailableError | None = None
        try:
            await self.measure()
        except MetricUnavailableError as problem:
            self.missing = problem
            return
        self.contracts = await self.find_contracts()

    async def find_vendor(self, text: str) -> Json:
        """Return the vendor that the ticket is about."""
        return await find_vendor(self.client, text)

    async def find_contracts(self) -> list[Json]:
        """Return the vendor's contracts that use the value."""
        rows = await self.client.list_all("datahub_search_records", kind="contract", vendor_id=self.vendor["id"])
        found = [await self.hub.read(row["id"]) for row in rows]
        return [record for record in found if self.key in record["fields"]]

    def figure_of(self, terms: RefreshPolicy) -> ReportMetricSkill:
        """Return the skill that reads the value."""
        return ReportMetricSkill(self.client, self.key, self.vendor["id"], terms)

    async def measure(self) -> None:
        """Refresh the values until all of them are fresh."""
        await refresh_until_fresh(self.client, [self.figure])

    async def objection(self) -> Objection | None:
        """Object if there is no authority, if only ended contracts use the value, or if all values are correct."""
        if self.missing is not None:
            return Objection(self.missing.code, self.missing.reference, "Nobody is the authority on it.")
        active = [record for record in self.contracts if record["state"] == "active"]
        if not active:
            return Objection("policy_violation", self.contracts[0]["id"], "Only ended contracts hold it.")
        if not self.wrong_contracts():
            return Objection("completed", active[0]["id"], "The contract is right already.")
        return None

    def wrong_contracts(self) -> list[Json]:
        """Return the contracts that need a correction."""
        active = [record for record in self.contracts if record["state"] == "active"]
        return [record for record in active if record["fields"][self.key] != self.figure.value]

    def identifiers(self) -> tuple[str, ...]:
        return self.vendor["id"], self.vendor["legal_name"]

    def priority(self) -> str:
        """Return the priority for the policy's thresholds. Raises MetricUnavailableError if there is no value."""
        if self.missing is not None:
            raise self.missing
        deviations = [abs(one["fields"][self.key] - self.figure.value) for one in self.wrong_contracts()]
        return self.level(max(deviations, default=0))

    async def execute(self) -> None:
        """Report the wrong sources, and correct the records."""
        await self.measure()
        for metric_id in await self.wrong_metrics():
            await self.report(metric_id)
        for record in self.wrong_contracts():
            await self.hub.update(record["id"], fields=self.corrected(record))

    async def wrong_metrics(self) -> list[str]:
        """Return the metrics with a wrong value."""
        readings = await self.readings()
        values = {str(item["metric_id"]): self.figure.usual(item["value"], item["unit"]) for item in readings}
        return [metric_id for metric_id, value in values.items() if value != self.figure.value]

    async def readings(self) -> Sequence[Json]:
        """Return the values of all sources."""
        answer = await self.client.call("datahub_query_metric", key=self.key, subject=self.vendor["id"])
        readings: list[Json] = answer["readings"]
        return readings

    async def report(self, metric_id: str) -> None:
        """Report a wrong metric."""
        words = "It differs from what the authority says."
        await self.client.create("datahub_report_data_issue", subject=metric_id, kind="wrong", description=words)

    def corrected(self, record: Json) -> Json:
        """Return the corrected fields of a record."""
        fields: Json = {self.key: self.figure.value}
        if DERIVED in record["fields"]:
            below = self.figure.value < self.policy["parameters"]["adjusted_below"]
            fields[DERIVED] = self.policy["parameters"][DERIVED] if below else 0
        return fields


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


play = DataDiscrepancyWorker.play
WORKER = DataDiscrepancyWorker
ADVERSARIES = build_adversaries(
    DataDiscrepancyWorker,
    {
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
    },
    usual=COMMON_WITHOUT_APPROVALS,
)
REQUIRED_CHAOS = {
    **{name: kind for name, kind in COMMON_REQUIRED_CHAOS.items() if name in ADVERSARIES},
    "skip_refresh": "stale_metric",
    "correct_unread": "stale_metric",
    "ignore_units": "unit_mismatch",
    "report_everybody": "conflicting_sources",
    "take_the_namesake": "similar_names",
}
