"""The facts of one audit: what the rubric judges by and the clairvoyant oracle knows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import TicketCase
from companyos_shared.wire.company import Role

NAME = "audit_remediation"


class Breach(StrEnum):
    """Kind of policy violation."""

    OVER_CEILING = "over_ceiling"
    GONE = "gone"
    MISSING_TICKET = "no_ticket"
    WRONG_HANDS = "wrong_hands"

    @property
    def code(self) -> str | None:
        """The reason for which such a request is cancelled; none where it is escalated instead."""
        return CODES.get(self)


CODES = {
    Breach.OVER_CEILING: "policy_violation",
    Breach.GONE: "not_entitled",
    Breach.MISSING_TICKET: "requirement_not_met",
}


class Variant(StrEnum):
    """Variant of the case: violations among the pending requests."""

    LIMITS = "limits"
    LEAVERS = "leavers"
    PAPERS = "papers"
    EVERYTHING = "everything"

    @property
    def breaches(self) -> tuple[Breach, ...]:
        """The violations of the case; some are always with the wrong approver."""
        return _BREACHES[self]


_BREACHES = {
    Variant.LIMITS: (Breach.OVER_CEILING, Breach.WRONG_HANDS),
    Variant.LEAVERS: (Breach.GONE, Breach.WRONG_HANDS),
    Variant.PAPERS: (Breach.MISSING_TICKET, Breach.WRONG_HANDS),
    Variant.EVERYTHING: tuple(Breach),
}


class RefusalGround(StrEnum):
    """Why an audit must be refused, by the reason code that the policy wants."""

    HELD = "requirement_not_met"
    NOT_ORDERED = "not_entitled"
    DONE_BEFORE = "duplicate"


@dataclass(frozen=True)
class RemediedRequest:
    """A request that breaks the policy."""

    request_id: str
    breach: Breach
    amount_cents: int


@dataclass(frozen=True, kw_only=True)
class Case(TicketCase):
    """One audit."""

    variant: Variant
    ground: RefusalGround | None
    type_key: str
    remedied_requests: tuple[RemediedRequest, ...]
    """What breaks the policy; nothing else may change."""
    role: Role
    """Who decides about what is escalated."""
    policy_refs: tuple[str, ...]
    """The ids by which the policy in force may be named."""
    reporter_id: str
    ground_id: str | None
    """The document that stands against the audit, where one does."""
    kinds: frozenset[Kind]
