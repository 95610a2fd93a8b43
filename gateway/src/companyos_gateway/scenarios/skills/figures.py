"""Figures by their authority, all of them fresh at once, or the reason why one cannot be had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from companyos_gateway.scenarios.skills.hands import Hands, Refused
from companyos_gateway.scenarios.skills.measures import per_unit

Json = dict[str, Any]

REFRESH_WAIT_MINUTES = 95
MARGIN = timedelta(minutes=30)
"""A value this close to its age limit is refreshed before it is used."""

IN_MAINTENANCE, RUNNING = "maintenance-window", "refresh-running"


class Unavailable(Exception):
    """Raised for a figure that cannot be had: the typed reason, the id of the fact behind it, and the metric."""

    def __init__(self, code: str, reference: str, metric_id: str) -> None:
        super().__init__(f"{metric_id}: {code} {reference}")
        self.code = code
        self.reference = reference
        self.metric_id = metric_id


@dataclass(frozen=True)
class Terms:
    """By when figures are needed, after how many failures one is given up, and the policy that says so."""

    due_at: datetime
    most_failures: int
    policy_id: str


class FigureSkill:
    """Reads one key of one subject."""

    def __init__(self, hands: Hands, key: str, subject: str, terms: Terms) -> None:
        self.hands = hands
        self.key = key
        self.subject = subject
        self.terms = terms
        self.source: Json = {}
        self.reading: Json = {}
        self.failures = 0
        self._is_asked = False

    @property
    def value(self) -> float:
        """What the authority said last, in the usual unit."""
        return self.usual(self.reading["value"], self.reading["unit"])

    @property
    def metric_id(self) -> str:
        """The authority's metric."""
        return str(self.reading["metric_id"])

    def usual(self, value: float, unit: str) -> float:
        """Return a value in the unit in which policies and records speak."""
        return float(value) / per_unit(unit)

    async def look(self) -> None:
        """Read what the authority says. Raises Unavailable where there is none, or where refreshes keep failing."""
        before = self.reading.get("as_of")
        known = {"source_id": self.source["id"]} if self.source else {}
        answer = await self.hands.ask("datahub_query_metric", key=self.key, subject=self.subject, **known)
        self.reading = await self.choose(answer["readings"])
        if not self._is_asked:
            return
        self._is_asked = False
        self.failures = self.failures + 1 if self.reading["as_of"] == before else 0
        if self.failures >= self.terms.most_failures:
            raise Unavailable("data_unavailable", self.source["id"], self.metric_id)

    async def choose(self, readings: Sequence[Json]) -> Json:
        """Return the reading of the authority. Raises Unavailable where none of the sources is it."""
        if self.source:
            return readings[0]
        for reading in readings:
            source = await self.hands.ask("datahub_get_source", source_id=reading["source_id"])
            if self.key in source["authoritative_for"]:
                self.source = source
                return reading
        raise Unavailable("requirement_not_met", self.terms.policy_id, readings[0]["metric_id"])

    def is_old(self) -> bool:
        """Say whether the value is stale, or will be shortly."""
        age = self.hands.now() - datetime.fromisoformat(self.reading["as_of"])
        return self.reading["is_stale"] or age > timedelta(minutes=self.source["freshness_sla_minutes"]) - MARGIN

    async def refresh(self) -> None:
        """Start a refresh; where the source is in maintenance, wait for its end. Raises Unavailable if that is late."""
        try:
            await self.hands.make("datahub_refresh_metric", metric_id=self.metric_id)
            self._is_asked = True
        except Refused as refused:
            if refused.code == IN_MAINTENANCE:
                await self._sit_out()
            elif refused.code != RUNNING:
                raise

    async def _sit_out(self) -> None:
        source = await self.hands.ask("datahub_get_source", source_id=self.source["id"])
        ends_at = datetime.fromisoformat(source["maintenance_to"])
        if ends_at > self.terms.due_at:
            raise Unavailable("data_unavailable", source["id"], self.metric_id)
        left = (ends_at - self.hands.now()).total_seconds()
        await self.hands.wait(max(1, int(left // 60) + 1))


async def freshen(hands: Hands, figures: Sequence[FigureSkill]) -> None:
    """Bring it about that all figures are fresh at the same time; who is the authority on a key is asked once.

    Raises Unavailable.
    """
    authorities: dict[str, Json] = {}
    for figure in figures:
        figure.source = figure.source or authorities.get(figure.key, {})
        await figure.look()
        authorities[figure.key] = figure.source
    while old := [figure for figure in figures if figure.is_old()]:
        for figure in old:
            await figure.refresh()
        await hands.wait(REFRESH_WAIT_MINUTES)
        for figure in old:
            await figure.look()
