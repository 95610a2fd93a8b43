"""The fair oracle: renews a contract from brief, tools and answers alone."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import Any

from companyos.policies import Call, TaskView
from companyos_players import MetricReading, MetricSkill, Objection, OrderedApprovalWorker, RecordSkill, ToolClient

LEGAL = "legal review"
RISK = "risk_index"
MARGIN = timedelta(minutes=120)
"""Evidence this close to its age limit is refreshed before it is used."""

PAPER_WAIT_MINUTES = 1440

Json = dict[str, Any]


async def play(task: TaskView, call: Call) -> None:
    """Renew the contract that the brief is about, or refuse it where the policy says so."""
    await ContractRenewalWorker(task, ToolClient(call)).work()


class ContractRenewalWorker(OrderedApprovalWorker):
    """One renewal; each part is a method, so that a cheat can leave one out."""

    type_words = "finance approval"
    earlier_words = (LEGAL,)
    justification = "The vendor's papers are in force and its risk is within the policy."

    paper: Json | None = None
    risk: MetricReading
    is_measured = False

    async def investigate(self) -> None:
        """Find the contract and its vendor."""
        self.hub = RecordSkill(self.client)
        self.contract = await self.find_contract()
        self.vendor: Json = await self.client.call("datahub_get_vendor", vendor_id=self.contract["vendor_id"])

    async def read_approval_context(self) -> None:
        """Look for the certificate and read the risk, where nobody has yet."""
        await super().read_approval_context()
        await self.look_for_paper()
        await self.measure()

    async def measure(self) -> None:
        """Read the risk, unless it was read."""
        if not self.is_measured:
            self.risk = await self.fresh_risk()
            self.is_measured = True

    async def look_for_paper(self) -> None:
        """Find the certificate among the documents where the one on file has expired."""
        if not self.is_in_force() and self.paper is None:
            self.paper = await self.find_paper()

    async def find_contract(self) -> Json:
        """Return the contract that the ticket cites by its id, or by its title and vendor."""
        text = self.ticket.known["description"]
        cited = re.search(r"\bCTR-[0-9]+\b", text)
        if cited:
            return await self.hub.read(cited[0])
        vendor, title = re.search(r"\bVEN-[0-9]+\b", text), re.search(r'"([^"]+)"', text)
        assert title is not None, "no contract is cited"
        of_vendor = {"vendor_id": vendor[0]} if vendor else {}
        for row in await self.hub.find(query=title[1], kind="contract", state="active", **of_vendor):
            if row["title"] == title[1] and (vendor or await self.is_named(row["vendor_id"], text)):
                return await self.hub.read(row["id"])
        raise LookupError(f"no contract is cited in {text!r}")

    async def is_named(self, vendor_id: str, text: str) -> bool:
        """Say whether the text names the vendor."""
        vendor = await self.client.call("datahub_get_vendor", vendor_id=vendor_id)
        return vendor["name"] in text

    def of_kind(self) -> list[Json]:
        """Return the vendor's certificates of the kind that the policy asks for."""
        kind = self.policy["parameters"]["certificate"]
        return [one for one in self.vendor["certificates"] if one["kind"] == kind]

    def latest(self) -> Json:
        """Return the certificate that lasts longest: of that kind, or of any where the vendor has none of it."""
        return max(self.of_kind() or self.vendor["certificates"], key=lambda one: str(one["expires_on"]))

    def is_in_force(self) -> bool:
        """Say whether one of that kind has not expired."""
        return any(not one["is_expired"] for one in self.of_kind())

    async def find_paper(self) -> Json | None:
        """Return the document that shows a certificate of that kind in force, waiting for one that is to come."""
        for row in await self.hub.find(kind="document", vendor_id=self.vendor["id"]):
            document = await self.hub.read(row["id"])
            if document["fields"].get("certificate_kind") != self.policy["parameters"]["certificate"]:
                continue
            while document["state"] == "draft":
                await self.client.wait(PAPER_WAIT_MINUTES)
                document = await self.hub.read(row["id"])
            if date.fromisoformat(document["fields"]["expires_on"]) >= self.client.now().date():
                return document
        return None

    async def fresh_risk(self, since: datetime | None = None) -> MetricReading:
        """Return the risk by the authority, refreshed where that is stale or older than asked for."""
        return await MetricSkill(self.client, RISK, self.vendor["id"]).fresh(since)

    async def objection(self) -> Objection | None:
        """Object to a suspended vendor, a contract that is covered, a missing certificate or too high a risk."""
        if self.vendor["status"] == "suspended":
            return Objection("policy_violation", self.vendor["id"], "The vendor is suspended.")
        for row in await self.hub.find(kind="contract", state="renewed", vendor_id=self.vendor["id"]):
            covering = await self.hub.read(row["id"])
            if covering["fields"].get("service") == self.contract["fields"]["service"]:
                return Objection("duplicate", covering["id"], "Another contract covers this already.")
        await self.look_for_paper()
        if not self.is_in_force() and self.paper is None:
            return Objection("requirement_not_met", self.latest()["id"], "The certificate has expired.")
        await self.measure()
        if self.risk.value > self.policy["parameters"]["highest_risk"]:
            return Objection("requirement_not_met", self.policy["policy_id"], "The risk is too high.")
        return None

    def identifiers(self) -> tuple[str, ...]:
        """Return what a text about this contract names."""
        return self.contract["id"], self.contract["title"]

    def tier(self) -> str:
        """Return the tier by the policy's figures."""
        figures = self.policy["parameters"]
        if self.risk.value >= figures["high_risk_from"]:
            return "high"
        return "medium" if self.risk.value >= figures["medium_risk_from"] else "low"

    def years(self) -> int:
        """Return for how long the policy renews."""
        years = int(self.contract["fields"]["term_years"])
        return min(years, int(self.policy["parameters"].get(f"longest_years_{self.tier()}", years)))

    def new_end(self) -> date:
        """Return the last day of the new term."""
        ends_on = date.fromisoformat(self.contract["ends_on"])
        return ends_on.replace(year=ends_on.year + self.years())

    def priority(self) -> str:
        """Return the priority that the policy's figures ask for."""
        return self.level(self.amount_cents())

    def subject(self) -> str:
        """Return the contract."""
        return str(self.contract["id"])

    def amount_cents(self) -> int:
        """Return what the new term costs."""
        return self.years() * int(self.contract["fields"]["yearly_price_cents"])

    async def prepare_request(self) -> None:
        """Bring the vendor up to date, and refresh a figure that has grown old."""
        if self.approval_ids:
            return
        await self.file_certificate()
        ages = [spec["max_age_minutes"] for spec in self.earlier[LEGAL].type["fields"] if spec["max_age_minutes"]]
        oldest = self.client.now() - timedelta(minutes=min(ages)) + MARGIN
        if self.risk.as_of < oldest:
            self.risk = await self.fresh_risk(oldest)
        await self.correct_tier()

    async def file_certificate(self) -> None:
        """File the renewed certificate."""
        if self.is_in_force() or self.paper is None:
            return
        shown = self.paper["fields"]
        new = {"kind": shown["certificate_kind"], **{name: shown[name] for name in ("issued_on", "expires_on")}}
        await self.client.call("datahub_update_vendor", vendor_id=self.vendor["id"], certificate=new)
        self.vendor = await self.client.call("datahub_get_vendor", vendor_id=self.vendor["id"])

    async def correct_tier(self) -> None:
        """Give the vendor the tier of today."""
        if self.vendor["risk_tier"] != self.tier():
            await self.client.call("datahub_update_vendor", vendor_id=self.vendor["id"], risk_tier=self.tier())
            self.vendor["risk_tier"] = self.tier()

    def earlier_fields(self, words: str) -> Json:
        """Return the fields of the legal review."""
        return {
            "contract_id": self.subject(),
            "certificate_until": str(self.latest()["expires_on"]),
            RISK: self.risk.value,
            "risk_as_of": self.risk.as_of.isoformat(),
            "risk_tier": self.tier(),
        }

    def fields(self) -> Json:
        """Return the fields of the finance approval."""
        return {
            "contract_id": self.subject(),
            "amount_cents": self.amount_cents(),
            "new_end": self.new_end().isoformat(),
            "legal_ref": self.approval_ids[LEGAL],
        }

    async def follow_up(self, request_id: str) -> None:
        """Record the renewal."""
        fields = {"term_years": self.years(), "approval_ref": request_id}
        changes = {"ends_on": self.new_end().isoformat(), "fields": fields}
        await self.hub.update(self.subject(), state="renewed", **changes)


WORKER = ContractRenewalWorker
"""The worker that ablations and adversaries are derived from."""
