"""The facts of one onboarding: what the rubric judges by and the clairvoyant oracle knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import BlockerResolution, MetricSpec, TicketCase

__all__ = ["METRIC_KEY", "NAME", "REASON_CODE", "TYPE_KEY", "BlockerResolution", "Case", "Variant"]

NAME = "vendor_onboarding"
TYPE_KEY = "vendor_onboarding"
METRIC_KEY = "compliance_score"
REASON_CODE = "requirement_not_met"


class Variant(StrEnum):
    """Variant of the case: use of the risk tier in the request, in the priority, in both or none."""

    PLAIN = "plain"
    TIERED = "tiered"
    RAISED = "raised"
    TIERED_AND_RAISED = "tiered_and_raised"

    @classmethod
    def of(cls, *, has_risk_tier: bool, raises: bool) -> Variant:
        """Return the shape of a request that asks for the tier, under a policy that raises by it."""
        if raises:
            return cls.TIERED_AND_RAISED if has_risk_tier else cls.RAISED
        return cls.TIERED if has_risk_tier else cls.PLAIN


@dataclass(frozen=True, kw_only=True)
class Case(TicketCase):
    """One onboarding."""

    variant: Variant
    vendor_id: str
    contract_id: str
    fixed_fields: Mapping[str, str | int]
    """The fields of the request whose values stand in a record or vendor from the start."""
    policy_id: str
    policy_version: int
    minimum_score: float
    score: MetricSpec
    kinds: frozenset[Kind]

    @property
    def policy_refs(self) -> tuple[str, str]:
        """The accepted references of the policy: its id, with or without version."""
        return self.policy_id, f"{self.policy_id}-v{self.policy_version}"
