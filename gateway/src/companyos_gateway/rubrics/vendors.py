"""Vendors of a task: what is on file of them as the system of record of a field, and what may be brought up to date."""

from __future__ import annotations

from collections.abc import Mapping

from companyos_gateway.rubrics import facts
from companyos_gateway.rubrics.boundaries import Allowance, changed_keys
from companyos_gateway.rubrics.evidence import Evidence, NetChange
from companyos_gateway.rubrics.requests import FieldRecord

HUB = facts.DATAHUB


def column_record(vendor_id: str, column: str, wanted: str) -> FieldRecord:
    """Return a column of a vendor as the system of record of a field, known once it holds what it must."""

    def value(evidence: Evidence, step: int) -> str | None:
        row = evidence.row_at(HUB, "vendors", vendor_id, step)
        return wanted if row is not None and row[column] == wanted else None

    return value


def certificate_record(vendor_id: str, kind: str, last_day: str) -> FieldRecord:
    """Return the last day of a vendor's certificate as the system of record of a field, known once it is on file."""

    def value(evidence: Evidence, step: int) -> str | None:
        keys = evidence.table(HUB, "certificates")
        rows = (evidence.row_at(HUB, "certificates", key, step) for key in keys)
        wanted = (vendor_id, kind, last_day)
        found = (row for row in rows if row and (row["vendor_id"], row["kind"], row["expires_on"]) == wanted)
        return last_day if any(found) else None

    return value


def tier_allowance(vendor_id: str) -> Allowance:
    """Return that the risk tier of a vendor may change."""
    return Allowance(HUB, "vendors", changed_keys([vendor_id]), frozenset({"risk_tier"}))


def certificate_allowance(wanted: Mapping[str, str]) -> Allowance:
    """Return that the certificate which holds these values may be filed."""

    def covers(_evidence: Evidence, change: NetChange) -> bool:
        return change.added and change.after is not None and wanted.items() <= change.after.items()

    return Allowance(HUB, "certificates", covers)
