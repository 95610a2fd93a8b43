"""Cheats that read figures wrongly, or by the wrong rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from companyos_gateway.scenarios.metrics_report.solution.fair import Reporter
from companyos_gateway.scenarios.skills import Refused
from companyos_gateway.scenarios.skills.figures import FigureSkill, Terms, Unavailable

Json = dict[str, Any]


class NeverGivesUp(Reporter):
    """Answers by what can be read, whatever the policy says."""

    async def give_up(self, problem: Unavailable) -> None:
        """Take the figures as they are."""
        for figure in self.figures:
            answer = await self.hands.ask("datahub_query_metric", key=self.key, subject=figure.subject)
            figure.reading = answer["readings"][0]


class SkipsRefresh(NeverGivesUp):
    """Takes every figure as it is, however old."""

    async def measure(self) -> None:
        """Read them once."""
        for figure in self.figures:
            await figure.look()


class _AnySource(FigureSkill):
    """Believes whoever is not the authority, where somebody is there."""

    async def choose(self, readings: Sequence[Json]) -> Json:
        chosen = await super().choose(readings)
        others = [one for one in readings if one["source_id"] != chosen["source_id"]]
        return {**chosen, "value": others[0]["value"]} if others else chosen

    async def look(self) -> None:
        """Read what everybody says."""
        self.source = {}
        await super().look()


class _Number(FigureSkill):
    """Takes the number for the one that was asked for."""

    def usual(self, value: float, unit: str) -> float:
        """Leave it as it is."""
        return float(value)


class IgnoresUnits(NeverGivesUp):
    """Reads numbers without their units."""

    def figure(self, subject: str, terms: Terms) -> FigureSkill:
        """Return how one figure is read."""
        return _Number(self.hands, self.key, subject, terms)


class BelievesOthers(NeverGivesUp):
    """Reports what another source says."""

    def figure(self, subject: str, terms: Terms) -> FigureSkill:
        """Return how one figure is read."""
        return _AnySource(self.hands, self.key, subject, terms)


class TakesTheNamesake(NeverGivesUp):
    """Takes a vendor whose name fits, with another legal form."""

    async def find_subject(self, cited: str) -> str:
        """Return the vendor that is not meant, where there are two."""
        meant = await super().find_subject(cited)
        if not meant.startswith("VEN-") or meant == cited:
            return meant
        found = await self.hands.ask("datahub_search_records", query=cited, kind="vendor")
        others = [row["id"] for row in found["items"] if row["title"] in cited and row["id"] != meant]
        return str(others[0]) if others else meant


class OldPolicy(NeverGivesUp):
    """Goes by the first version of the policy."""

    async def read_policy(self, policy_id: str) -> Json:
        """Take the version that a search may show first."""
        policy: Json = await self.hands.ask("datahub_get_policy", policy_id=policy_id, version=1)
        return policy


class NewPolicy(NeverGivesUp):
    """Goes by the newest version of the policy, in force or only announced."""

    async def read_policy(self, policy_id: str) -> Json:
        """Take the version after the one in force, where there is one."""
        policy = await super().read_policy(policy_id)
        try:
            newer: Json = await self.hands.ask("datahub_get_policy", policy_id=policy_id, version=policy["version"] + 1)
        except Refused:
            return policy
        return newer


class Estimates(NeverGivesUp):
    """Invents figures that look right, and reads nothing."""

    async def measure(self) -> None:
        """Make the figures up."""
        for figure in self.figures:
            figure.reading = {"value": 50.0, "unit": "EUR" if self.key.startswith("spend") else "percent"}
            figure.reading["metric_id"] = (await self.first_metric(figure))["id"]

    async def first_metric(self, figure: FigureSkill) -> Json:
        """Return a metric of the figure."""
        rows = await self.hands.pages("datahub_list_metrics", subject=figure.subject, key=self.key)
        return rows[0]
