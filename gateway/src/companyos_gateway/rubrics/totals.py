"""Totals over records as the system of record of a field."""

from __future__ import annotations

from collections.abc import Collection

from companyos_gateway.rubrics import facts
from companyos_gateway.rubrics.evidence import Evidence
from companyos_gateway.rubrics.requests import FieldRecord


def total_of(record_ids: Collection[str], name: str, *, state: str) -> FieldRecord:
    """Return the sum of a field over records, known once each of them is in that state."""

    def total(evidence: Evidence, step: int) -> int | float | None:
        rows = [evidence.row_at(facts.DATAHUB, "records", record_id, step) for record_id in record_ids]
        values = [row["fields"][name] for row in rows if row is not None and row["state"] == state]
        return sum(values) if len(values) == len(rows) else None

    return total
