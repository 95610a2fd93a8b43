"""The typed readers and boundaries use only tables and columns that exist in the services."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from companyos_gateway.chaos import profile_for
from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.change_policy import request_allowances
from companyos_gateway.evaluation.outcome_rubric import allowances_of, checks_of
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.blocks.declared_scenario import DeclaredScenario
from companyos_shared.wire.control import Row
from verification.proof import RecordedEpisode

READERS: list[tuple[str, str, Callable[[Row], Any]]] = [
    (row_views.TICKETDESK, "tickets", row_views.parse_ticket),
    (row_views.TICKETDESK, "checklist_items", row_views.is_done),
    (row_views.DATAHUB, "metrics", row_views.parse_metric),
    (row_views.APPROVALFLOW, "requests", row_views.parse_request),
    (row_views.APPROVALFLOW, "decisions", row_views.parse_decision),
    (row_views.APPROVALFLOW, "delegations", row_views.parse_delegation),
]


@pytest.mark.parametrize(("service", "table", "read"), READERS)
def test_every_row_of_a_service_is_read(
    solved: dict[str, RecordedEpisode], service: str, table: str, read: Callable[[Row], Any]
) -> None:
    rows = solved["hard"].evidence.table(service, table)
    assert rows
    for row in rows.values():
        read(row)


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", sorted(catalogue()))
def test_every_table_and_column_of_the_allowances_exists(solved: dict[str, RecordedEpisode], name: str) -> None:
    scenario, initial = catalogue()[name], solved["hard"].evidence.as_json()["initial"]
    assert isinstance(scenario, DeclaredScenario)
    for seed in range(3):
        built = scenario.build(seed, profile_for(2), {})
        requests = checks_of(built.case, built.world.company()).values()
        for allowance in (*allowances_of(built.case), *(one for each in requests for one in request_allowances(each))):
            for row in list(initial[allowance.service][allowance.table].values())[:1]:
                assert (allowance.columns or frozenset()) <= set(row)


def test_bookkeeping_columns_exist(solved: dict[str, RecordedEpisode]) -> None:
    ticket = next(iter(solved["easy"].evidence.table(row_views.TICKETDESK, "tickets").values()))
    assert set(ticket) >= row_views.BOOKKEEPING_COLUMNS
