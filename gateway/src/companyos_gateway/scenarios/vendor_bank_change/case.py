"""The facts of one change of bank details: what the rubric judges by and the clairvoyant oracle knows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import TicketCase
from companyos_shared.wire.company import Role

NAME = "vendor_bank_change"
CHECK_TYPE = "bank_details_check"
TYPE_KEY = "bank_details_release"


class Variant(StrEnum):
    """Variant of the case: which verification shows that the change is genuine."""

    CALLED = "called"
    CALL_COMES = "call_comes"
    FORMER = "former"
    COOLING = "cooling"


class RefusalGround(StrEnum):
    """Why a change must be refused: what of it smells of fraud, or what keeps it from being made now."""

    SENDER = "sender"
    COUNTRY = "country"
    HOLDER = "holder"
    DENIED = "denied"
    WRONG_NUMBER = "wrong_number"
    SUSPENDED = "suspended"
    TOO_SOON = "too_soon"

    @property
    def reason_code(self) -> str:
        """The reason that the policy wants."""
        return _OTHER_CODES.get(self, FRAUD)

    @property
    def is_fraud(self) -> bool:
        """Return whether the change must be reported as fraud."""
        return self not in _OTHER_CODES


FRAUD = "fraud_suspected"
_OTHER_CODES = {RefusalGround.SUSPENDED: "policy_violation", RefusalGround.TOO_SOON: "requirement_not_met"}


@dataclass(frozen=True, kw_only=True)
class Case(TicketCase):
    """One change of bank details."""

    variant: Variant
    ground: RefusalGround | None
    vendor_id: str
    letter_id: str
    """The document that asks for the change."""
    note_id: str | None
    """The document that tells of the call, where there is one."""
    new_iban: str
    proof_id: str
    """What shows that the account is the vendor's: the note of the call, or the change that gave the account up."""
    not_before: date
    """The first day on which the change may be entered."""
    open_amount_cents: int
    role: Role
    checker_id: str
    policy_id: str
    kinds: frozenset[Kind]
