"""Vendors, their risk and the moves between their statuses."""

from __future__ import annotations

from collections.abc import Mapping

from companyos_shared.choices import Choice


class VendorStatus(Choice):
    """Whether the company buys from a vendor."""

    PROSPECT = "prospect"
    ACTIVE = "active"
    SUSPENDED = "suspended"


MOVES: Mapping[VendorStatus, frozenset[VendorStatus]] = {
    VendorStatus.PROSPECT: frozenset({VendorStatus.ACTIVE, VendorStatus.SUSPENDED}),
    VendorStatus.ACTIVE: frozenset({VendorStatus.SUSPENDED}),
    VendorStatus.SUSPENDED: frozenset({VendorStatus.ACTIVE}),
}
"""The statuses that may follow each status."""


class RiskTier(Choice):
    """How much harm a vendor could do."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
