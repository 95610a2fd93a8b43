"""Rows as text, to detect whether a case of a shift has changed the rows of another."""

from __future__ import annotations

from dataclasses import replace

from companyos_gateway.world.seed_documents.approvalflow import DecisionRow, NoteRow, RequestRow
from companyos_gateway.world.seed_documents.datahub import SourceRow


def text_of(row: object) -> str:
    """Return a row as text without values that further cases may change: request IDs and a source's authority."""
    match row:
        case RequestRow():
            return repr(replace(row, id=""))
        case DecisionRow() | NoteRow():
            return repr(replace(row, id="", request_id=""))
        case SourceRow():
            return repr(replace(row, authoritative_for=[]))
    return repr(row)
