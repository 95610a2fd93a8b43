"""The facts of one bug escalation: what the rubric judges by and the clairvoyant oracle knows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import MetricSpec, TicketCase

NAME = "bug_escalation"
TYPE_KEY = "bug_escalation"
METRIC_KEY = "error_rate"
REASON_CODE = "requirement_not_met"


class Variant(StrEnum):
    """Variant of the case: one service, one with a named runbook, or two dependent services."""

    PLAIN = "plain"
    RUNBOOK = "runbook"
    CHAIN = "chain"


@dataclass(frozen=True, kw_only=True)
class Case(TicketCase):
    """One bug escalation."""

    variant: Variant
    service: str
    """The service that is escalated: of two the one with the higher rate."""
    rate: MetricSpec
    other_rate: MetricSpec | None
    """That of the other service of a chain."""
    runbook_id: str | None
    lowest_rate: float
    """From here on the policy escalates."""
    policy_id: str
    kinds: frozenset[Kind]
