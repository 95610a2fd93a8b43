"""The facts of one contract renewal: what the rubric judges by and the clairvoyant oracle knows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import MetricSpec, TicketCase
from companyos_shared.wire.company import Role

NAME = "contract_renewal"
LEGAL_TYPE = "contract_legal_review"
TYPE_KEY = "contract_finance_approval"
METRIC_KEY = "risk_index"


class Variant(StrEnum):
    """Variant of the case: which vendor data must be updated first."""

    STEADY = "steady"
    RECERTIFIED = "recertified"
    AWAITED = "awaited"
    RETIERED = "retiered"
    RECERTIFIED_AND_RETIERED = "recertified_and_retiered"

    @property
    def is_recertified(self) -> bool:
        """Return whether the certificate on file has expired."""
        return self in (Variant.RECERTIFIED, Variant.AWAITED, Variant.RECERTIFIED_AND_RETIERED)

    @property
    def is_retiered(self) -> bool:
        """Return whether the filed risk tier is outdated."""
        return self in (Variant.RETIERED, Variant.RECERTIFIED_AND_RETIERED)


class RefusalGround(StrEnum):
    """Why a renewal must be refused."""

    RISK = "risk"
    CERTIFICATE = "certificate"
    COVERED = "covered"
    SUSPENDED = "suspended"

    @property
    def reason_code(self) -> str:
        """The reason that the policy wants."""
        return _REASON_CODES[self]


_REASON_CODES = {
    RefusalGround.RISK: "requirement_not_met",
    RefusalGround.CERTIFICATE: "requirement_not_met",
    RefusalGround.COVERED: "duplicate",
    RefusalGround.SUSPENDED: "policy_violation",
}


@dataclass(frozen=True, kw_only=True)
class CertificateDocument:
    """A certificate as it stands in a paper."""

    kind: str
    issued_on: date
    expires_on: date


@dataclass(frozen=True, kw_only=True)
class Case(TicketCase):
    """One contract renewal."""

    variant: Variant
    ground: RefusalGround | None
    contract_id: str
    vendor_id: str
    paper: CertificateDocument
    """The certificate that is in force once everything is on file; an expired one where there is no other."""
    paper_id: str | None
    """The document that shows a new certificate, or an old one where that is all there is."""
    tier: str
    """The risk tier by the index of today."""
    highest_index: int
    risk: MetricSpec
    amount_cents: int
    term_years: int
    new_end: date
    role: Role
    counsel_id: str
    policy_id: str
    kinds: frozenset[Kind]
