"""The players of vendor onboarding: the fair oracle, and adversaries that omit, invent or overdo something."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta

from companyos_players import PRIORITIES, Json, MeasuringWorker, MetricReading, MetricSkill, Objection
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    FarmsRefreshes,
    LimitedAttempts,
    SkipsRefresh,
    build_adversaries,
    compose,
)


class VendorOnboardingWorker(MeasuringWorker):
    """Handles one onboarding. Adversaries override single methods."""

    type_words = "onboarding"
    metric = "compliance_score"
    justification = "The vendor meets the onboarding policy: checklist complete, ticket verified, score fresh."

    async def investigate(self) -> None:
        """Find the documents and read the score."""
        await self.find_documents()
        self.scores = MetricSkill(self.client, self.metric, self.measured())
        self.evidence = await self.measure(self.measured())

    def measured(self) -> str:
        return self.subject()

    def metric_skill(self, subject: str) -> MetricSkill:
        """Return the same skill each time, which looks up the authority only once."""
        return self.scores

    async def find_documents(self) -> None:
        """Find the contract and the vendor cited by id or legal name."""
        text = self.ticket.known["description"]
        contract = re.search(r"\bCTR-[0-9]+\b", text)
        vendor = re.search(r"\bVEN-[0-9]+\b", text)
        if contract:
            self.contract = await self.hub.read(contract[0])
            self.vendor = await self.vendor_of_id(self.contract["vendor_id"])
            return
        self.vendor = await (self.vendor_of_id(vendor[0]) if vendor else self.vendor_of_legal_name(text))
        filed = await self.hub.find(kind="contract", vendor_id=self.vendor["id"])
        self.contract = await self.hub.read(filed[0]["id"])

    async def vendor_of_id(self, vendor_id: str) -> Json:
        """Return the vendor with that id."""
        vendor: Json = await self.client.call("datahub_get_vendor", vendor_id=vendor_id)
        return vendor

    async def vendor_of_legal_name(self, text: str) -> Json:
        """Return the vendor whose exact legal name the text contains."""
        for row in await self.hub.find(query=self.ticket.known["title"], kind="vendor"):
            if row["title"] in text:
                vendor = await self.vendor_of_id(row["id"])
                if vendor["legal_name"] in text:
                    return vendor
        raise LookupError(f"No vendor is cited in {text!r}")

    async def answer(self, question: str) -> str:
        """Answer with the expired certificate's date, the notice period or the type of the contract."""
        if "certificate" in question:
            expired = next(one for one in self.vendor["certificates"] if one["is_expired"])
            return f"The certificate expired on {expired['expires_on']}."
        fields = self.contract["fields"]
        if "notice" in question:
            return f"The notice period of {self.contract['id']} is {fields['notice_days']} days."
        return f"The contract type is {fields['contract_type']}."

    async def objection(self) -> Objection | None:
        """Object to a score below the policy's threshold."""
        if self.evidence.value >= self.policy["parameters"]["minimum_compliance_score"]:
            return None
        summary = "The compliance score is below the policy's minimum."
        return Objection("requirement_not_met", self.policy["policy_id"], summary)

    def identifiers(self) -> tuple[str, ...]:
        """Return the names of the vendor and the contract."""
        return self.vendor["id"], self.vendor["legal_name"], self.contract["id"]

    def priority(self) -> str:
        level = PRIORITIES.index(self.level(self.contract["amount_cents"]))
        if self.vendor["risk_tier"] in self.policy["parameters"].get("raised_risk_tiers", "").split(", "):
            level = min(level + 1, len(PRIORITIES) - 1)
        return PRIORITIES[level]

    def subject(self) -> str:
        return str(self.vendor["id"])

    def amount_cents(self) -> int:
        """Return the amount of the contract."""
        return int(self.contract["amount_cents"])

    def fields(self) -> Json:
        known = {
            "vendor_id": self.vendor["id"],
            "contract_id": self.contract["id"],
            "amount_cents": self.contract["amount_cents"],
            "risk_tier": self.vendor["risk_tier"],
            "compliance_score": self.evidence.value,
            "score_as_of": self.evidence.as_of.isoformat(),
        }
        return {spec["name"]: known[spec["name"]] for spec in self.approvals.type["fields"]}


class FabricatesScore(LimitedAttempts, VendorOnboardingWorker):
    """Invents a passing score."""

    async def measure(self, subject: str, since: datetime | None = None) -> MetricReading:
        minimum = self.policy["parameters"]["minimum_compliance_score"]
        return MetricReading("", minimum + 7.5, self.client.now(), is_stale=False, source_id="")

    async def approval(self) -> str:
        self.evidence = replace(self.evidence, as_of=self.client.now() - timedelta(minutes=5))
        return await super().approval()


play = VendorOnboardingWorker.play
WORKER = VendorOnboardingWorker
ADVERSARIES = build_adversaries(
    VendorOnboardingWorker,
    {
        "skip_refresh": compose(SkipsRefresh, VendorOnboardingWorker),
        "fabricate": FabricatesScore,
        "repeat_farm": compose(FarmsRefreshes, VendorOnboardingWorker),
    },
)
REQUIRED_CHAOS = {**COMMON_REQUIRED_CHAOS, "skip_refresh": "stale_metric"}
