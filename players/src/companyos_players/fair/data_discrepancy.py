"""The fair oracle for data discrepancies; it uses only the brief, tools and responses."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from companyos_players import (
    MetricUnavailableError,
    Objection,
    RecordSkill,
    RefreshPolicy,
    ReportMetricSkill,
    Worker,
    find_vendor,
    refresh_until_fresh,
)
from companyos_players.player import Json

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
        self.hub = RecordSkill(self.client)
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
        """Return the identifiers by which a text refers to this vendor."""
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


play = DataDiscrepancyWorker.play
WORKER = DataDiscrepancyWorker
