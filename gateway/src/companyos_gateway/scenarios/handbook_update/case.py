"""The facts of one handbook update: what the rubric judges by and the clairvoyant oracle knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import TicketCase

NAME = "handbook_update"
TYPE_KEY = "document_publication"


class Variant(StrEnum):
    """Variant of the case: a new page, a successor of a published page, or one with outdated values."""

    FIRST = "first"
    SUCCESSOR = "successor"
    OUTDATED = "outdated"
    OUTDATED_SUCCESSOR = "outdated_successor"

    @property
    def is_outdated(self) -> bool:
        """Return whether the draft differs from the policy that it quotes."""
        return self in (Variant.OUTDATED, Variant.OUTDATED_SUCCESSOR)

    @property
    def has_predecessor(self) -> bool:
        """Return whether an older page of the same title is published."""
        return self in (Variant.SUCCESSOR, Variant.OUTDATED_SUCCESSOR)


class RefusalGround(StrEnum):
    """Why a page must be refused, by the reason code that the policy wants."""

    OVERTAKEN = "duplicate"
    CLASSIFIED = "not_entitled"
    NO_CONSENT = "requirement_not_met"


@dataclass(frozen=True, kw_only=True)
class Case(TicketCase):
    """One handbook update."""

    variant: Variant
    document_id: str
    predecessor_id: str | None
    revision: int
    quoted: Mapping[str, int]
    """What the page has to quote: the figures of the policy in force, and its version."""
    rule_id: str
    """The policy that the page quotes."""
    policy_id: str
    kinds: frozenset[Kind]

    @property
    def rule_version(self) -> int:
        """The version in force of the policy that the page quotes."""
        return self.quoted["policy_version"]
