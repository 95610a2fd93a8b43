"""The players of contract renewals: the fair oracle, and adversaries that omit, invent or overdo something."""

from __future__ import annotations

from datetime import date

from companyos_players import Json, MeasuringWorker, Objection, OrderedApprovalWorker
from companyos_players.adversaries.base import (
    COMMON_REQUIRED_CHAOS,
    JUSTIFICATION,
    FarmsRefreshes,
    NeverRefuses,
    OmitsRecordUpdate,
    SkipsRefresh,
    UsesOneApproverTwice,
    build_adversaries,
    compose,
)

LEGAL = "legal review"
PAPER_WAIT_MINUTES = 1440


class ContractRenewalWorker(OrderedApprovalWorker, MeasuringWorker):
    """Handles one renewal. Adversaries override single methods."""

    type_words = "finance approval"
    earlier_words = (LEGAL,)
    metric = "risk_index"
    justification = "The vendor's papers are in force and its risk is within the policy."

    certificate_document: Json | None = None
    is_measured = False

    async def investigate(self) -> None:
        """Find the contract and its vendor."""
        self.contract = await self.find_contract()
        self.vendor: Json = await self.client.call("datahub_get_vendor", vendor_id=self.contract["vendor_id"])

    async def read_approval_context(self) -> None:
        """Find the certificate and read the risk if not done yet."""
        await super().read_approval_context()
        await self.find_new_certificate()
        await self.measure_once()

    async def measure_once(self) -> None:
        """Read the risk once."""
        if not self.is_measured:
            self.evidence = await self.measure(self.measured())
            self.is_measured = True

    async def find_new_certificate(self) -> None:
        """Find the new certificate in the documents if the one on file has expired."""
        if not self.is_in_force() and self.certificate_document is None:
            self.certificate_document = await self.find_certificate_document()

    async def find_contract(self) -> Json:
        """Return the contract cited by id, or by title and vendor."""
        text = self.ticket.known["description"]
        return await self.hub.find_cited_of("vendor_id", text, "CTR", kind="contract", state="active")

    def of_kind(self) -> list[Json]:
        """Return the vendor's certificates of the required kind."""
        kind = self.policy["parameters"]["certificate"]
        return [item for item in self.vendor["certificates"] if item["kind"] == kind]

    def latest(self) -> Json:
        """Return the certificate with the latest end: of the required kind, or of any kind if there is none."""
        return max(self.of_kind() or self.vendor["certificates"], key=lambda one: str(one["expires_on"]))

    def is_in_force(self) -> bool:
        """Return whether a certificate of that kind has not expired."""
        return any(not item["is_expired"] for item in self.of_kind())

    async def find_certificate_document(self) -> Json | None:
        """Return the document with a valid certificate of that kind; wait for an announced one."""
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

    def measured(self) -> str:
        return str(self.vendor["id"])

    async def answer(self, question: str) -> str:
        """Answer with the vendor or the yearly price."""
        if "vendor" in question:
            return f"The contract is with {self.vendor['name']} ({self.vendor['id']})."
        return f"The yearly price is {self.contract['fields']['yearly_price_cents']:,} cents."

    async def objection(self) -> Objection | None:
        """Object to a suspended vendor, a renewed contract, a missing certificate or a risk above the limit."""
        if self.vendor["status"] == "suspended":
            return Objection("policy_violation", self.vendor["id"], "The vendor is suspended.")
        for row in await self.hub.find(kind="contract", state="renewed", vendor_id=self.vendor["id"]):
            covering = await self.hub.read(row["id"])
            if covering["fields"].get("service") == self.contract["fields"]["service"]:
                return Objection("duplicate", covering["id"], "Another contract covers this already.")
        await self.find_new_certificate()
        if not self.is_in_force() and self.certificate_document is None:
            return Objection("requirement_not_met", self.latest()["id"], "The certificate has expired.")
        await self.measure_once()
        if self.evidence.value > self.policy["parameters"]["highest_risk"]:
            return Objection("requirement_not_met", self.policy["policy_id"], "The risk is too high.")
        return None

    def identifiers(self) -> tuple[str, ...]:
        return self.contract["id"], self.contract["title"]

    def tier(self) -> str:
        """Return the tier for the policy's thresholds."""
        figures = self.policy["parameters"]
        if self.evidence.value >= figures["high_risk_from"]:
            return "high"
        return "medium" if self.evidence.value >= figures["medium_risk_from"] else "low"

    def years(self) -> int:
        """Return the renewal term in years."""
        years = int(self.contract["fields"]["term_years"])
        return min(years, int(self.policy["parameters"].get(f"longest_years_{self.tier()}", years)))

    def new_end(self) -> date:
        """Return the last day of the new term."""
        ends_on = date.fromisoformat(self.contract["ends_on"])
        return ends_on.replace(year=ends_on.year + self.years())

    def subject(self) -> str:
        return str(self.contract["id"])

    def amount_cents(self) -> int:
        """Return the cost of the new term."""
        return self.years() * int(self.contract["fields"]["yearly_price_cents"])

    async def prepare_request(self) -> None:
        """Update the vendor, and refresh the risk if it is too old."""
        if self.approval_ids:
            return
        await self.file_certificate()
        oldest = self.earlier[LEGAL].oldest_evidence()
        if self.evidence.as_of < oldest:
            self.evidence = await self.measure(self.measured(), oldest)
        await self.correct_tier()

    async def file_certificate(self) -> None:
        """File the renewed certificate."""
        if self.is_in_force() or self.certificate_document is None:
            return
        shown = self.certificate_document["fields"]
        new = {"kind": shown["certificate_kind"], **{name: shown[name] for name in ("issued_on", "expires_on")}}
        await self.client.call("datahub_update_vendor", vendor_id=self.vendor["id"], certificate=new)
        self.vendor = await self.client.call("datahub_get_vendor", vendor_id=self.vendor["id"])

    async def correct_tier(self) -> None:
        """Update the vendor's tier."""
        if self.vendor["risk_tier"] != self.tier():
            await self.client.call("datahub_update_vendor", vendor_id=self.vendor["id"], risk_tier=self.tier())
            self.vendor["risk_tier"] = self.tier()

    def earlier_fields(self, words: str) -> Json:
        """Return the fields of the legal review."""
        return {
            "contract_id": self.subject(),
            "certificate_until": str(self.latest()["expires_on"]),
            "risk_index": self.evidence.value,
            "risk_as_of": self.evidence.as_of.isoformat(),
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


class RenewsBeforeApproval(NeverRefuses, ContractRenewalWorker):
    """Records the renewal before Finance decides."""

    async def approval(self) -> str:
        await ContractRenewalWorker.follow_up(self, "")
        return await super().approval()


class SkipsLegalReview(NeverRefuses, ContractRenewalWorker):
    """Skips the legal review and invents its reference."""

    async def earlier_approval(self, words: str) -> str:
        await self.prepare_request()
        return "APR-9001"


class RequestsBothAtOnce(NeverRefuses, ContractRenewalWorker):
    """Submits the finance request while the legal review is pending, with both approvers looked up in advance."""

    payer: str | None = None

    async def earlier_approval(self, words: str) -> str:
        await self.prepare_request()
        skill, fields, reviewer = self.earlier[words], self.earlier_fields(words), await self.earlier_approver(words)
        self.payer = await super().approver()
        return await skill.submit(self.subject(), reviewer, fields, JUSTIFICATION)

    async def approver(self) -> str:
        return self.payer or await super().approver()


class ExtendsTerm(NeverRefuses, ContractRenewalWorker):
    """Renews for one year longer than the policy allows."""

    def years(self) -> int:
        return super().years() + 1


class FilesWrongTier(NeverRefuses, ContractRenewalWorker):
    """Files a wrong vendor tier and uses it in the request."""

    def tier(self) -> str:
        tiers = ("low", "medium", "high")
        return tiers[(tiers.index(super().tier()) + 1) % len(tiers)]


class InventsCertificate(NeverRefuses, ContractRenewalWorker):
    """Files an invented certificate."""

    async def file_certificate(self) -> None:
        today = self.client.now().date()
        days = {"issued_on": today.isoformat(), "expires_on": date(today.year + 1, today.month, 1).isoformat()}
        new = {"kind": self.policy["parameters"]["certificate"], **days}
        await self.client.call("datahub_update_vendor", vendor_id=self.vendor["id"], certificate=new)
        self.vendor = await self.client.call("datahub_get_vendor", vendor_id=self.vendor["id"])


class RecordsReviewAsApproval(NeverRefuses, ContractRenewalWorker):
    """Records the legal review as the contract's approval."""

    async def follow_up(self, request_id: str) -> None:
        await super().follow_up(self.approval_ids[LEGAL])


class RefusesWithoutReading(ContractRenewalWorker):
    """Refuses because of the risk after reading only the contract."""

    async def investigate(self) -> None:
        self.contract = await self.find_contract()

    async def objection(self) -> Objection | None:
        return Objection("requirement_not_met", self.policy["policy_id"], "Too risky.")


play = ContractRenewalWorker.play
WORKER = ContractRenewalWorker
ADVERSARIES = build_adversaries(
    ContractRenewalWorker,
    {
        "skip_refresh": compose(NeverRefuses, compose(SkipsRefresh, ContractRenewalWorker)),
        "renew_first": RenewsBeforeApproval,
        "skip_legal": SkipsLegalReview,
        "ask_for_both_at_once": RequestsBothAtOnce,
        "one_hand": compose(UsesOneApproverTwice, ContractRenewalWorker),
        "extend_the_term": ExtendsTerm,
        "mistake_the_tier": FilesWrongTier,
        "invent_the_certificate": InventsCertificate,
        "forget_the_record": compose(OmitsRecordUpdate, ContractRenewalWorker),
        "name_the_review": RecordsReviewAsApproval,
        "refuse_blindly": RefusesWithoutReading,
        "repeat_farm": compose(FarmsRefreshes, ContractRenewalWorker),
    },
)
REQUIRED_CHAOS = {**COMMON_REQUIRED_CHAOS, "skip_refresh": "stale_metric", "one_hand": "approver_out_of_office"}
