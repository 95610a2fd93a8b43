"""The instances whose ends mutants are held against: between them they have every structure, ground and way past."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

INSTANCES: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "access_request": (17, 0, 25, 27, 13, 33, 7, 28, 10, 93),
        "audit_remediation": (14, 100, 9, 44, 38, 93, 11, 1, 0, 26),
        "backlog_triage": (33, 119, 1, 97, 5, 15, 19, 43, 18, 6),
        "budget_transfer": (25, 76, 1, 69, 81, 101, 20, 88, 6, 62),
        "bug_escalation": (0, 100, 16, 29, 1, 19, 43, 39, 113),
        "contract_renewal": (30, 27, 59, 38, 2, 44, 12, 98, 81, 75),
        "data_discrepancy": (39, 90, 36, 89, 0, 52, 18, 5, 12, 104),
        "employee_offboarding": (53, 42, 3, 45, 20, 118, 37, 23, 30, 0),
        "expense_report": (68, 11, 20, 0, 16, 30, 2, 101, 7),
        "handbook_update": (97, 26, 0, 2, 12, 42, 14, 46, 8, 4),
        "incident_response": (80, 67, 104, 117, 34, 69, 3, 20, 10, 44),
        "license_renewal": (6, 45, 19, 29, 93, 17, 36, 46, 1, 77),
        "metrics_report": (91, 56, 35, 78, 8, 4, 6, 101, 1, 107),
        "purchase_order": (17, 13, 82, 0, 115, 81, 2, 89, 46, 68),
        "quarter_close": (26, 9, 7, 23, 3, 29, 5, 59, 103, 82),
        "vendor_bank_change": (27, 48, 3, 18, 1, 68, 4, 80, 0, 82),
        "vendor_onboarding": (115, 1, 50, 3, 78, 55, 8, 118, 5, 21),
    }
)
"""Seeds by scenario, at the level of bent ends, those first that add most; one in two must be refused."""
