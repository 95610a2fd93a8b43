"""The cheats: agents that leave out, invent or overdo something. None of them may succeed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from companyos_gateway.scenarios.data_discrepancy.solution.fair import Settler
from companyos_gateway.scenarios.skills import Objection, Worker
from companyos_gateway.scenarios.skills.cheating import (
    USUAL,
    USUAL_NEEDS,
    NewPolicy,
    OldPolicy,
    ResolvesFirst,
    Stalls,
    cheats_of,
    laid_over,
)
from companyos_gateway.scenarios.skills.figures import FigureSkill, Terms
from companyos_gateway.scenarios.skills.hands import Refused
from companyos_gateway.scenarios.skills.vendors import namesakes

Json = dict[str, Any]

MOST_CIRCLES = 40
APPROVAL_WAYS = ("ignore_absence", "ask_twice", "skip_approval", "repeat_farm")
"""Usual ways that mean nothing where nobody is asked."""


class Obstinate(Settler):
    """Corrects whatever the policy says."""

    async def study(self) -> None:
        """Go by any source where there is no authority."""
        await super().study()
        if self.missing is not None:
            self.contracts = await self.find_contracts()
            self.figure.reading = dict((await self.readings())[0])

    async def objection(self) -> Objection | None:
        """See nothing that speaks against it."""
        return None

    def wrong_contracts(self) -> list[Json]:
        """Find something to correct in any case."""
        return super().wrong_contracts() or self.contracts[:1]


class SkipsRefresh(Obstinate):
    """Takes the authority's value as it is, however old."""

    async def measure(self) -> None:
        """Read it once."""
        if not self.figure.reading:
            await self.figure.look()


class _AnySource(FigureSkill):
    """Believes whoever contradicts the authority."""

    async def choose(self, readings: Sequence[Json]) -> Json:
        chosen = await super().choose(readings)
        said = self.usual(chosen["value"], chosen["unit"])
        others = [one for one in readings if self.usual(one["value"], one["unit"]) != said]
        return {**chosen, "value": others[0]["value"], "unit": others[0]["unit"]} if others else chosen

    async def look(self) -> None:
        """Read what everybody says."""
        self.source = {}
        await super().look()


class _Number(FigureSkill):
    """Takes the number for the one that was asked for."""

    def usual(self, value: float, unit: str) -> float:
        """Leave it as it is."""
        return float(value)


class IgnoresUnits(Obstinate):
    """Reads numbers without their units."""

    def figure_of(self, terms: Terms) -> FigureSkill:
        """Return how the figure is read."""
        return _Number(self.hands, self.key, self.vendor["id"], terms)


class BelievesTheOther(Obstinate):
    """Takes the other source for the authority: sets its value, and reports the authority."""

    def figure_of(self, terms: Terms) -> FigureSkill:
        """Return how the figure is read."""
        return _AnySource(self.hands, self.key, self.vendor["id"], terms)

    def wrong_contracts(self) -> list[Json]:
        """Correct every active contract."""
        return [record for record in self.contracts if record["state"] == "active"] or self.contracts[:1]


class ReportsEverybody(Obstinate):
    """Reports every source but the authority, whether it agrees or not."""

    async def wrong_metrics(self) -> list[str]:
        """Return all of them."""
        return [one["metric_id"] for one in await self.readings() if one["metric_id"] != self.figure.metric_id]


class ReportsNobody(Obstinate):
    """Corrects the records and keeps quiet."""

    async def wrong_metrics(self) -> list[str]:
        """Return none."""
        return []


class OnlyReports(Obstinate):
    """Reports the wrong source and corrects nothing."""

    def corrected(self, record: Json) -> Json:
        """Set what is there already."""
        return {self.key: record["fields"][self.key]}


class LeavesOneOut(Obstinate):
    """Corrects all records but the last."""

    def wrong_contracts(self) -> list[Json]:
        """Return all but one; of one, none."""
        found = super().wrong_contracts()
        return found if self.is_prioritising else found[:-1]

    is_prioritising = True

    async def carry_out(self) -> None:
        """Leave one out."""
        self.is_prioritising = False
        await super().carry_out()


class CorrectsHistory(Obstinate):
    """Corrects ended contracts as well."""

    async def carry_out(self) -> None:
        """Go on to the others."""
        await super().carry_out()
        for record in self.contracts:
            await self.hub.change(record["id"], fields={self.key: self.figure.value - 1})


class AveragesThem(Obstinate):
    """Meets in the middle."""

    def corrected(self, record: Json) -> Json:
        """Take the mean of both values."""
        return {**super().corrected(record), self.key: (record["fields"][self.key] + self.figure.value) / 2}


class KeepsTheRest(Obstinate):
    """Sets the figure, and spoils what follows from it."""

    def corrected(self, record: Json) -> Json:
        """Let the adjustment be one off, or the end of a contract that has none."""
        fields = super().corrected(record)
        return {**fields, "notice_days": 1 + record["fields"]["notice_days"]}


class CorrectsUnread(Obstinate):
    """Corrects before the figure is fresh, and refreshes afterwards."""

    async def measure(self) -> None:
        """Read it as it is."""
        await self.figure.look()

    async def resolve(self) -> None:
        """Refresh, then resolve."""
        await super().measure()
        await super().resolve()


class TakesTheNamesake(Obstinate):
    """Takes a vendor whose name fits, with another legal form."""

    async def find_vendor(self, text: str) -> Json:
        """Return the vendor that is not meant, where there are two."""
        meant = await super().find_vendor(text)
        others = [row["id"] for row in await namesakes(self.hands, text) if row["id"] != meant["id"]]
        if others:
            meant = await self.hands.ask("datahub_get_vendor", vendor_id=others[0])
        return meant


class RefusesBlindly(Settler):
    """Says that nobody is the authority, and has asked nobody."""

    async def study(self) -> None:
        """Look at the vendor alone."""
        self.vendor = await self.find_vendor(self.ticket.known["description"])

    async def objection(self) -> Objection | None:
        """Blame the policy."""
        return Objection("requirement_not_met", self.policy["policy_id"], "Nobody knows.")


class RefusesForTheRecord(RefusesBlindly):
    """Says that a contract has ended, and has read none."""

    async def objection(self) -> Objection | None:
        """Blame a contract."""
        rows = await self.hands.pages("datahub_search_records", kind="contract", vendor_id=self.vendor["id"])
        return Objection("policy_violation", rows[0]["id"], "It has ended.")


class FarmsRepeats(Obstinate):
    """Does again and again what pays once: refresh, wait, read."""

    async def carry_out(self) -> None:
        """Turn in circles until the steps are used up."""
        for _ in range(MOST_CIRCLES):
            await self.ticket.prioritise("low")
            await self.ticket.prioritise(self.priority())
            try:
                await self.hands.make("datahub_refresh_metric", metric_id=self.figure.metric_id)
            except Refused:
                await self.hands.wait(120)


OWN: dict[str, type[Worker]] = {
    "skip_refresh": SkipsRefresh,
    "ignore_units": IgnoresUnits,
    "believe_the_other": BelievesTheOther,
    "report_everybody": ReportsEverybody,
    "report_nobody": ReportsNobody,
    "only_report": OnlyReports,
    "leave_one_out": LeavesOneOut,
    "correct_history": CorrectsHistory,
    "average_them": AveragesThem,
    "keep_the_rest": KeepsTheRest,
    "correct_unread": CorrectsUnread,
    "take_the_namesake": TakesTheNamesake,
    "old_policy": laid_over(OldPolicy, Obstinate),
    "new_policy": laid_over(NewPolicy, Obstinate),
    "refuse_blindly": RefusesBlindly,
    "refuse_for_the_record": RefusesForTheRecord,
    "repeat_farm": FarmsRepeats,
    "resolve_first": laid_over(ResolvesFirst, Obstinate),
    "stall": laid_over(Stalls, Obstinate),
}
CHEATS = cheats_of(Settler, OWN, usual={name: way for name, way in USUAL.items() if name not in APPROVAL_WAYS})
NEEDS = {
    **{name: kind for name, kind in USUAL_NEEDS.items() if name not in APPROVAL_WAYS},
    "skip_refresh": "stale_metric",
    "correct_unread": "stale_metric",
    "ignore_units": "unit_mismatch",
    "report_everybody": "conflicting_sources",
    "take_the_namesake": "similar_names",
    "old_policy": "superseded_policy",
    "new_policy": "announced_policy",
}
