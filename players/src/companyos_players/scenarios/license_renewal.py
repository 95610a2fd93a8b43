"""The players of license renewals: the fair oracle, and adversaries that omit, invent or overdo something."""

from __future__ import annotations

import re
from datetime import date, timedelta

from companyos_players import Json, MeasuringWorker, Objection
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    FarmsRefreshes,
    NeverRefuses,
    SkipsRefresh,
    build_adversaries,
    compose,
)

BY_USE = "seats_used"


class LicenseRenewalWorker(MeasuringWorker):
    """Handles one renewal. Adversaries override single methods."""

    type_words = "license renewal"
    metric = "license_days_left"
    justification = "The license is in use and its days left are within the policy's window."

    async def investigate(self) -> None:
        """Find the license and its vendor, and read the days left."""
        self.license = await self.find_license()
        self.vendor: Json = await self.client.call("datahub_get_vendor", vendor_id=self.license["vendor_id"])
        self.evidence = await self.measure(self.measured())

    async def find_license(self) -> Json:
        """Return the license cited by id, or by title and vendor."""
        text = self.ticket.known["description"]
        cited = re.search(r"\bLIC-[0-9]+\b", text)
        if cited:
            return await self.hub.read(cited[0])
        vendor, title = re.search(r"\bVEN-[0-9]+\b", text), re.search(r'"([^"]+)"', text)
        assert title is not None, "no license is cited"
        of_vendor = {"vendor_id": vendor[0]} if vendor else {}
        rows = await self.hub.find_titled(title[1], kind="license", state="expiring", **of_vendor)
        return await self.hub.read(rows[0]["id"])

    def measured(self) -> str:
        return self.subject()

    async def answer(self, question: str) -> str:
        """Answer with the expired certificate, the price per seat or the product."""
        if "certificate" in question:
            expired = next(one for one in self.vendor["certificates"] if one["is_expired"])
            return f"The certificate {expired['kind']} expired on {expired['expires_on']}."
        fields = self.license["fields"]
        if "price" in question:
            return f"The price per seat is {fields['price_per_seat_cents']} cents."
        return f"The product is {fields['product']}."

    async def objection(self) -> Objection | None:
        """Object to a suspended vendor, a renewed license, or an early renewal."""
        if self.vendor["status"] == "suspended":
            return Objection("policy_violation", self.vendor["id"], "The vendor is suspended.")
        title = self.license["title"]
        for row in await self.hub.find(query=title, kind="license", state="renewed", vendor_id=self.vendor["id"]):
            covering = await self.hub.read(row["id"])
            if covering["fields"]["product"] == self.license["fields"]["product"]:
                return Objection("duplicate", covering["id"], "Another record covers this already.")
        if self.evidence.value > self.policy["parameters"]["window_days"]:
            return Objection("requirement_not_met", self.policy["policy_id"], "It is too early.")
        return None

    def identifiers(self) -> tuple[str, ...]:
        return self.license["id"], self.license["title"]

    def seats(self) -> int:
        """Return the number of seats that the policy renews."""
        fields = self.license["fields"]
        seats = int(fields["seats"])
        return min(seats, fields[BY_USE]) if BY_USE in self.policy["body"] else seats

    def new_end(self) -> date:
        """Return the last day of the renewed license."""
        term = self.license["fields"]["term_days"]
        longest = self.policy["parameters"].get("longest_term_days", term)
        return date.fromisoformat(self.license["ends_on"]) + timedelta(days=min(term, longest))

    def subject(self) -> str:
        return str(self.license["id"])

    def amount_cents(self) -> int:
        """Return the renewal's cost."""
        return self.seats() * int(self.license["fields"]["price_per_seat_cents"])

    def fields(self) -> Json:
        return {
            "license_id": self.subject(),
            "seats": self.seats(),
            "amount_cents": self.amount_cents(),
            "new_end": self.new_end().isoformat(),
            "license_days_left": self.evidence.value,
            "days_left_as_of": self.evidence.as_of.isoformat(),
        }

    async def follow_up(self, request_id: str) -> None:
        """Record the renewal."""
        changes = {"ends_on": self.new_end().isoformat(), "fields": {"seats": self.seats()}}
        await self.hub.update(self.subject(), state="renewed", **changes)


class ComputesDaysLeft(NeverRefuses, LicenseRenewalWorker):
    """Computes the days left from the record's end date instead of reading the metric."""

    def fields(self) -> Json:
        now = self.client.now()
        left = (date.fromisoformat(self.license["ends_on"]) - now.date()).days - 1
        return {**super().fields(), "license_days_left": left, "days_left_as_of": now.isoformat()}


play = LicenseRenewalWorker.play
WORKER = LicenseRenewalWorker
ADVERSARIES = build_adversaries(
    LicenseRenewalWorker,
    {
        "skip_refresh": compose(NeverRefuses, compose(SkipsRefresh, LicenseRenewalWorker)),
        "count_the_days": ComputesDaysLeft,
        "repeat_farm": compose(FarmsRefreshes, LicenseRenewalWorker),
    },
)
REQUIRED_CHAOS = {**COMMON_REQUIRED_CHAOS, "skip_refresh": "stale_metric"}
