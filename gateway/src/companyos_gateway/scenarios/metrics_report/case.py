"""The facts of one metrics report: what the rubric judges by and the clairvoyant oracle knows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from fractions import Fraction

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import TicketCase
from companyos_gateway.evaluation.reported_values import ReportedValue

NAME = "metrics_report"


class Variant(StrEnum):
    """Variant of the case: one value, a comparison, a sum, a count above a limit, or a trend."""

    SINGLE = "single"
    COMPARISON = "comparison"
    TOTAL = "total"
    COUNT = "count"
    MOVEMENT = "movement"


class AnswerKind(StrEnum):
    """Kind of one answer."""

    VALUE = "value"
    LEADER = "leader"
    TOTAL = "total"
    ABOVE = "above"
    HIGHEST = "highest"
    BEFORE = "before"
    CHANGE = "change"


class RefusalGround(StrEnum):
    """Why a report cannot be made."""

    MAINTENANCE = "maintenance"
    FAILING = "failing"
    NO_AUTHORITY = "no_authority"


@dataclass(frozen=True)
class AnswerSpec:
    """One answer: its name, what it says, and of which figure where it is about one."""

    name: str
    kind: AnswerKind
    of: int = 0


@dataclass(frozen=True, kw_only=True)
class Case(TicketCase):
    """One metrics report."""

    variant: Variant
    ground: RefusalGround | None
    figures: tuple[ReportedValue, ...]
    answers: tuple[AnswerSpec, ...]
    factor: Fraction
    """What a value in the metric's own unit is multiplied by."""
    limit: int
    """The limit, in the metric's own unit, that a count is about."""
    before: float
    """What the figure was on the day that a movement is about, in the metric's own unit."""
    measuring_ids: tuple[str, ...]
    """The sources that measure the first figure."""
    available_at: datetime
    """When the maintenance of the source is over; the start where there is none."""
    most_failures: int
    policy_id: str
    kinds: frozenset[Kind]
