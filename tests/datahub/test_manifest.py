"""The OpenAPI document of DataHub is its manifest of tools."""

from __future__ import annotations

from typing import Any

from companyos_datahub.main import app
from companyos_shared.framework.testing import ServiceHarness

MAX_ANSWER_BYTES = 4_000
READS = [
    "/metrics",
    "/readings?key=compliance_score&subject=VEN-201",
    "/metrics/MET-1/history",
    "/refresh-jobs",
    "/sources",
    "/sources/SRC-ERP",
    "/records",
    "/records?query=lenses",
    "/records/INV-6620",
    "/vendors/VEN-202",
    "/people",
    "/people/E-1002",
    "/approvers/cfo",
    "/calendar",
    "/policies",
    "/policies/POL-007",
]


def operations() -> dict[str, dict[str, Any]]:
    paths = app.openapi()["paths"]
    found = [operation for item in paths.values() for operation in item.values()]
    return {operation["operationId"]: operation for operation in found}


def test_the_schema_states_that_a_deputy_has_no_authority() -> None:
    schemas = app.openapi()["components"]["schemas"]
    assert "being a deputy gives no authority to decide" in operations()["get_approver"]["description"]
    assert "no authority" in schemas["RoleHeldAnswer"]["properties"]["deputy_id"]["description"]
    assert "no authority" in schemas["Holder"]["properties"]["deputy"]["description"]


def test_every_response_of_a_tool_has_an_example() -> None:
    document = app.openapi()
    for name, schema in document["components"]["schemas"].items():
        if name.endswith(("Detail", "Row", "Update", "Report")) and name not in {"AbsenceRow", "HolidayRow"}:
            assert schema.get("examples"), name


async def test_responses_are_short(hub: ServiceHarness) -> None:
    for url in READS:
        answer = await hub.get(url)
        assert answer.status_code == 200, url
        assert len(answer.content) <= MAX_ANSWER_BYTES, url


async def test_no_response_reveals_the_planned_refreshes(hub: ServiceHarness) -> None:
    texts = [(await hub.get(url)).text for url in READS]
    assert not any("RP-1" in text or "supplier portal" in text for text in texts)
