"""Reading a metric by the source that is the authority on it, refreshed where it is stale."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from companyos_gateway.scenarios.skills.hands import Hands

Json = dict[str, Any]

REFRESH_WAIT_MINUTES = 95
FINER_UNITS = {"hours": 24, "per mille": 10}
"""How many of a unit make one of the usual one; a tenth of anything says so."""


@dataclass(frozen=True)
class Measured:
    """A reading of the authoritative source."""

    metric_id: str
    value: float
    as_of: datetime
    is_stale: bool


class MeasureSkill:
    """Reads one key of one subject."""

    def __init__(self, hands: Hands, key: str, subject: str) -> None:
        self.hands = hands
        self.key = key
        self.subject = subject
        self.authority: str | None = None

    async def fresh(self, since: datetime | None = None) -> Measured:
        """Return the authoritative value, refreshed where it is stale or older than asked for.

        A refresh may fail and is tried again.
        """
        measured = await self.read()
        while measured.is_stale or (since is not None and measured.as_of < since):
            await self.hands.make("datahub_refresh_metric", metric_id=measured.metric_id)
            await self.hands.wait(REFRESH_WAIT_MINUTES)
            measured = await self.read()
        return measured

    async def read(self) -> Measured:
        """Read the value by the source that is the authority on it."""
        known = {"source_id": self.authority} if self.authority else {}
        answer = await self.hands.ask("datahub_query_metric", key=self.key, subject=self.subject, **known)
        readings: list[Json] = answer["readings"]
        chosen = readings[0]
        for reading in readings if len(readings) > 1 else ():
            source = await self.hands.ask("datahub_get_source", source_id=reading["source_id"])
            if self.key in source["authoritative_for"]:
                chosen = reading
                break
        self.authority = str(chosen["source_id"])
        as_of = datetime.fromisoformat(chosen["as_of"])
        return Measured(chosen["metric_id"], self.in_usual_unit(chosen), as_of, chosen["is_stale"])

    def in_usual_unit(self, reading: Json) -> float:
        """Return the value in the unit in which requests and policies speak: days, percent, whole points."""
        return float(reading["value"]) / per_unit(str(reading["unit"]))


def per_unit(unit: str) -> int:
    """Return how many of a source's units make one of the usual unit."""
    return 10 if unit.startswith("tenths of ") else FINER_UNITS.get(unit, 1)
