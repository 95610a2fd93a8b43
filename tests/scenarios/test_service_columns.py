"""The typed readers and boundaries name tables and columns that the services have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from companyos_gateway.evaluation import row_views
from companyos_gateway.scenarios.vendor_onboarding.rubric import allowances_of, requests_of
from companyos_shared.wire.company import Company
from companyos_shared.wire.control import Row
from tests.scenarios.test_vendor_onboarding_rejected_states import CASES
from verification.proof import RecordedEpisode

READERS: list[tuple[str, str, Callable[[Row], Any]]] = [
    (row_views.TICKETDESK, "tickets", row_views.parse_ticket),
    (row_views.TICKETDESK, "checklist_items", row_views.is_done),
    (row_views.DATAHUB, "metrics", row_views.parse_metric),
    (row_views.APPROVALFLOW, "requests", row_views.parse_request),
    (row_views.APPROVALFLOW, "decisions", row_views.parse_decision),
    (row_views.APPROVALFLOW, "delegations", row_views.parse_delegation),
]


def _rows(kept: RecordedEpisode, service: str, table: str) -> dict[str, Row]:
    return kept.evidence.table(service, table)


@pytest.mark.parametrize(("service", "table", "read"), READERS)
def test_every_row_of_a_service_is_read(
    solved: dict[str, RecordedEpisode], service: str, table: str, read: Callable[[Row], Any]
) -> None:
    rows = _rows(solved["hard"], service, table)
    assert rows
    for row in rows.values():
        read(row)


@pytest.mark.parametrize("name", sorted(CASES))
def test_every_table_and_column_of_the_boundaries_exists(solved: dict[str, RecordedEpisode], name: str) -> None:
    initial = solved[name].evidence.as_json()["initial"]
    company = Company.model_validate(solved[name].instance.documents["ticketdesk"]["company"])
    for allowance in allowances_of(CASES[name], requests_of(CASES[name], company)):
        assert allowance.table in initial[allowance.service]
        rows = _rows(solved[name], allowance.service, allowance.table)
        for row in list(rows.values())[:1]:
            assert (allowance.columns or frozenset()) <= set(row)


def test_bookkeeping_columns_exist(solved: dict[str, RecordedEpisode]) -> None:
    ticket = next(iter(_rows(solved["easy"], row_views.TICKETDESK, "tickets").values()))
    assert set(ticket) >= row_views.BOOKKEEPING_COLUMNS
