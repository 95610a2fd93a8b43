"""Contract of standalone services: reset from documents."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from companyos_shared.framework import Service, ServiceSettings, create_app

COMPANY = {"name": "Test Ltd", "domain": "test.example", "agent_id": "E-1"}
EMPTY = {"company": COMPANY, "draw_seed": "test", "started_at": "2026-06-01T08:00:00Z"}


@pytest.fixture
async def alone(service: Service[Any], tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(service, ServiceSettings(service_key=None, service_key_file=None, data_dir=tmp_path))
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
        yield client
    app.state.episodes.close()


async def test_a_document_with_only_a_company_is_accepted(alone: httpx.AsyncClient) -> None:
    answer = await alone.post("/control/reset", json={"document": EMPTY})
    assert (answer.status_code, answer.json()) == (200, {"now": "2026-06-01T08:00:00+00:00", "changes": 0})


async def test_the_demo_data_is_accepted_as_a_document(service: Service[Any], alone: httpx.AsyncClient) -> None:
    document = service.demo_seed().model_dump(mode="json")
    assert (await alone.post("/control/reset", json={"document": document})).status_code == 200


async def test_a_reset_at_a_later_time_includes_the_events_up_to_it(alone: httpx.AsyncClient) -> None:
    later = "2026-04-02T09:00:00Z"
    at_once = (await alone.post("/control/reset", json={"now": later})).json()
    await alone.post("/control/reset")
    assert (await alone.post("/control/clock", json={"minutes": 31 * 24 * 60})).json() == at_once


async def test_a_time_that_cannot_be_stored_is_an_invalid_seed(service: Service[Any], alone: httpx.AsyncClient) -> None:
    document = service.demo_seed().model_dump(mode="json")
    for table, rows in document.items():
        times = [name for name, value in _first(rows).items() if isinstance(value, str) and value.endswith("Z")]
        for name in times:
            changed = copy.deepcopy(document)
            changed[table][0][name] = "0001-01-01T00:00:00+05:00"
            answer = await alone.post("/control/reset", json={"document": changed})
            assert (answer.status_code, answer.json()["code"]) == (422, "invalid-seed"), (table, name)


async def test_an_error_about_the_whole_document_does_not_quote_it(
    service: Service[Any], alone: httpx.AsyncClient
) -> None:
    document = service.demo_seed().model_dump(mode="json")
    table = next(name for name, rows in document.items() if _first(rows))
    document[table].append(document[table][0])
    answer = await alone.post("/control/reset", json={"document": document})
    assert answer.json()["detail"].startswith(f"document {table}")
    assert "got" not in answer.json()["detail"]


async def test_an_unknown_query_parameter_is_named_with_the_accepted_ones(alone: httpx.AsyncClient) -> None:
    operations = (await alone.get("/openapi.json")).json()["paths"]
    operations = {path: methods for path, methods in operations.items() if not path.startswith("/control/")}
    for path, methods in operations.items():
        for method, operation in methods.items():
            answer = await alone.request(method, f"{path}?limt=3&limt=4")
            assert (answer.status_code, answer.json()["code"]) == (422, "invalid-arguments"), (method, path)
            accepted = sorted(one["name"] for one in operation.get("parameters", ()) if one["in"] == "query")
            reason = f"must be one of {', '.join(accepted)}" if accepted else "this route has no query parameters"
            assert answer.json()["detail"] == f"limt: unknown; {reason}"


async def test_a_call_with_unknown_query_parameters_takes_no_fault(alone: httpx.AsyncClient) -> None:
    operations = (await alone.get("/openapi.json")).json()["paths"].items()
    path = next(path for path, methods in operations if "get" in methods and "{" not in path)
    reset = await alone.post("/control/reset", json={"faults": [{"kind": "unavailable"}]})
    assert reset.status_code == 200
    rejected = await alone.get(f"{path}?{'&'.join(f'unknown{number}=1' for number in range(500))}")
    assert len(rejected.json()["errors"]) == 10
    assert [(await alone.get(path)).status_code for _ in range(2)] == [503, 200]


def _first(rows: Any) -> dict[str, Any]:
    return rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], dict) else {}
