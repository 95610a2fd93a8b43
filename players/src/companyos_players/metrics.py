"""Skills that read a metric from its authoritative source and refresh stale values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from companyos_players.player import Json
from companyos_players.tool_client import MissingFactError, ToolClient, ToolRefusedError

REFRESH_WAIT_MINUTES = 95
FINER_UNITS = {"cents": 100, "hours": 24, "per mille": 10, "errors per 10,000 requests": 10}
"""Number of finer units in a usual unit; any unit for tenths has 10."""


@dataclass(frozen=True)
class MetricReading:
    """A reading of the authoritative source."""

    metric_id: str
    value: float
    as_of: datetime
    is_stale: bool
    source_id: str


class MetricSkill:
    """Reads one metric key of one subject."""

    def __init__(self, client: ToolClient, key: str, subject: str) -> None:
        self.client = client
        self.key = key
        self.subject = subject
        self.authority: str | None = None

    async def fresh(self, since: datetime | None = None) -> MetricReading:
        """Return the authoritative value; refresh it if stale or too old.

        Retries failed refreshes.
        """
        measured = await self.read()
        while measured.is_stale or (since is not None and measured.as_of < since):
            await self.client.create("datahub_refresh_metric", metric_id=measured.metric_id)
            await self.client.wait(REFRESH_WAIT_MINUTES)
            measured = await self.read()
        return measured

    async def read(self) -> MetricReading:
        """Read the value from the authoritative source."""
        known = {"source_id": self.authority} if self.authority else {}
        answer = await self.client.call("datahub_query_metric", key=self.key, subject=self.subject, **known)
        readings: list[Json] = answer["readings"]
        chosen = readings[0]
        for reading in readings if len(readings) > 1 else ():
            source = await self.client.call("datahub_get_source", source_id=reading["source_id"])
            if self.key in source["authoritative_for"]:
                chosen = reading
                break
        self.authority = str(chosen["source_id"])
        as_of = datetime.fromisoformat(chosen["as_of"])
        return MetricReading(chosen["metric_id"], self.in_usual_unit(chosen), as_of, chosen["is_stale"], self.authority)

    def in_usual_unit(self, reading: Json) -> float:
        """Return the value in the unit of requests and policies: days, percent, whole points, errors per 1,000."""
        return float(reading["value"]) / per_unit(str(reading["unit"]))


def per_unit(unit: str) -> int:
    """Return how many source units make one usual unit."""
    return 10 if unit.startswith("tenths of ") else FINER_UNITS.get(unit, 1)


MARGIN = timedelta(minutes=30)
"""Remaining time before the age limit at which a value is refreshed before use."""

IN_MAINTENANCE, RUNNING = "maintenance-window", "refresh-running"


class MetricUnavailableError(MissingFactError):
    """Raised for an unavailable metric, with the typed reason, the id of the evidence and the metric."""

    def __init__(self, code: str, reference: str, metric_id: str) -> None:
        super().__init__(f"{metric_id}: {code} {reference}")
        self.code = code
        self.reference = reference
        self.metric_id = metric_id


@dataclass(frozen=True)
class RefreshPolicy:
    """Deadline for values, number of allowed failed refreshes, and the policy id."""

    due_at: datetime
    most_failures: int
    policy_id: str


class ReportMetricSkill:
    """Reads one metric key of one subject."""

    def __init__(self, client: ToolClient, key: str, subject: str, terms: RefreshPolicy) -> None:
        self.client = client
        self.key = key
        self.subject = subject
        self.terms = terms
        self.source: Json = {}
        self.reading: Json = {}
        self.failures = 0
        self._is_refreshing = False

    @property
    def value(self) -> float:
        """The authority's last value, in the usual unit."""
        return self.usual(self.reading["value"], self.reading["unit"])

    @property
    def metric_id(self) -> str:
        """The authority's metric."""
        return str(self.reading["metric_id"])

    def usual(self, value: float, unit: str) -> float:
        """Return a value in the unit of policies and records."""
        return float(value) / per_unit(unit)

    async def read(self) -> None:
        """Read the authority's value. Raises MetricUnavailableError if there is none or refreshes keep failing."""
        before = self.reading.get("as_of")
        known = {"source_id": self.source["id"]} if self.source else {}
        answer = await self.client.call("datahub_query_metric", key=self.key, subject=self.subject, **known)
        self.reading = await self.choose(answer["readings"])
        if not self._is_refreshing:
            return
        self._is_refreshing = False
        self.failures = self.failures + 1 if self.reading["as_of"] == before else 0
        if self.failures >= self.terms.most_failures:
            raise MetricUnavailableError("data_unavailable", self.source["id"], self.metric_id)

    async def choose(self, readings: Sequence[Json]) -> Json:
        """Return the authority's reading. Raises MetricUnavailableError if no source is the authority."""
        if self.source:
            return readings[0]
        for reading in readings:
            source = await self.client.call("datahub_get_source", source_id=reading["source_id"])
            if self.key in source["authoritative_for"]:
                self.source = source
                return reading
        raise MetricUnavailableError("requirement_not_met", self.terms.policy_id, readings[0]["metric_id"])

    def is_old(self, in_minutes: int = 0) -> bool:
        """Return whether the value is stale now or will be stale in that many minutes."""
        age = self.client.now() + timedelta(minutes=in_minutes) - datetime.fromisoformat(self.reading["as_of"])
        return self.reading["is_stale"] or age > timedelta(minutes=self.source["freshness_sla_minutes"]) - MARGIN

    async def refresh(self) -> None:
        """Start a refresh after any maintenance. Raises MetricUnavailableError if the maintenance ends too late."""
        try:
            await self.client.create("datahub_refresh_metric", metric_id=self.metric_id)
            self._is_refreshing = True
        except ToolRefusedError as refused:
            if refused.code == IN_MAINTENANCE:
                await self._wait_for_maintenance()
            elif refused.code != RUNNING:
                raise

    async def _wait_for_maintenance(self) -> None:
        source = await self.client.call("datahub_get_source", source_id=self.source["id"])
        ends_at = datetime.fromisoformat(source["maintenance_to"])
        if ends_at > self.terms.due_at:
            raise MetricUnavailableError("data_unavailable", source["id"], self.metric_id)
        left = (ends_at - self.client.now()).total_seconds()
        await self.client.wait(max(1, int(left // 60) + 1))


async def refresh_until_fresh(client: ToolClient, figures: Sequence[ReportMetricSkill]) -> None:
    """Refresh the values so that all are fresh at the same time; look up each authority once.

    A refresh takes a while, so values that would become stale during it are refreshed together with the stale ones.
    Raises MetricUnavailableError.
    """
    authorities: dict[str, Json] = {}
    for figure in figures:
        figure.source = figure.source or authorities.get(figure.key, {})
        await figure.read()
        authorities[figure.key] = figure.source
    while any(figure.is_old() for figure in figures):
        old = [figure for figure in figures if figure.is_old(REFRESH_WAIT_MINUTES)]
        for figure in old:
            await figure.refresh()
        await client.wait(REFRESH_WAIT_MINUTES)
        for figure in old:
            await figure.read()
