"""The facts of one discrepancy: what the rubric judges by and the clairvoyant oracle knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import TicketCase
from companyos_gateway.evaluation.reported_values import ReportedValue

NAME = "data_discrepancy"


class Variant(StrEnum):
    """Variant of the case: corrections of a value or also derived values, in one or several records."""

    SINGLE = "single"
    DERIVED = "derived"
    SEVERAL = "several"
    SEVERAL_DERIVED = "several_derived"

    @property
    def is_derived(self) -> bool:
        """Return whether the records hold a derived value."""
        return self in (Variant.DERIVED, Variant.SEVERAL_DERIVED)

    @property
    def is_several(self) -> bool:
        """Return whether several records used the wrong value."""
        return self in (Variant.SEVERAL, Variant.SEVERAL_DERIVED)


class RefusalGround(StrEnum):
    """Why nothing is corrected, by the reason code that the policy wants."""

    AGREED = "completed"
    ENDED = "policy_violation"
    NO_AUTHORITY = "requirement_not_met"


@dataclass(frozen=True, kw_only=True)
class Case(TicketCase):
    """One discrepancy."""

    variant: Variant
    ground: RefusalGround | None
    vendor_id: str
    figure: ReportedValue
    wrong_metric_id: str
    """The metric of the source that is wrong."""
    metric_ids: tuple[str, ...]
    """Every metric of the figure; refreshing one changes nothing but what it says."""
    measuring_ids: tuple[str, ...]
    """The sources behind them."""
    corrections: Mapping[str, Mapping[str, Any]]
    """The fields that have to be set, by the id of the record."""
    record_ids: tuple[str, ...]
    """Every record that holds the figure."""
    policy_id: str
    kinds: frozenset[Kind]
