"""A standalone service: no key, one local episode, a manual clock, resets, and docs without a network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from companyos_shared.framework import Service, ServiceSettings, create_app
from companyos_shared.framework.testing import ServiceHarness


def _client(service: Service[object], folder: Path) -> httpx.AsyncClient:  # type: ignore[type-var]
    app = create_app(service, ServiceSettings(service_key=None, service_key_file=None, data_dir=folder))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service")


@pytest.fixture
def alone(library: ServiceHarness, tmp_path: Path) -> httpx.AsyncClient:
    return _client(library.service, tmp_path)


async def test_it_responds_without_a_signature_and_without_a_report(alone: httpx.AsyncClient) -> None:
    answer = await alone.get("/books/B-1")
    assert answer.json()["title"] == "Volume 01"
    assert "x-companyos-report" not in answer.headers


async def test_its_clock_is_advanced_manually_and_applies_due_events(alone: httpx.AsyncClient) -> None:
    await alone.post("/books/B-1/lend")
    before = (await alone.get("/control/clock")).json()["now"]
    moved = (await alone.post("/control/clock", json={"minutes": 600})).json()
    assert moved["now"] > before
    assert moved["changes"] == 1
    assert (await alone.get("/books/B-1")).json()["lent"] is False


@pytest.mark.parametrize("how", ["variable", "file"])
def test_an_empty_key_is_rejected_and_neither_signs_nor_makes_it_standalone(tmp_path: Path, how: str) -> None:
    (tmp_path / "key").write_text("\n")
    given = {"variable": (SecretStr(""), None), "file": (None, tmp_path / "key")}[how]
    settings = ServiceSettings(service_key=given[0], service_key_file=given[1])
    with pytest.raises(ValueError, match="empty"):
        settings.key()


@pytest.mark.parametrize("minutes", [True, "5"])
async def test_its_clock_takes_minutes_only_as_a_number(alone: httpx.AsyncClient, minutes: object) -> None:
    before = (await alone.get("/control/clock")).json()
    answer = await alone.post("/control/clock", json={"minutes": minutes})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-arguments")
    assert (await alone.get("/control/clock")).json() == before


@pytest.mark.parametrize("field", ["retry_after_s", "hides_from_step"])
async def test_a_fault_takes_integers_only_as_numbers(alone: httpx.AsyncClient, field: str) -> None:
    for value in (True, "60"):
        answer = await alone.post("/control/reset", json={"faults": [{"kind": "unavailable", field: value}]})
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid-arguments")


async def test_its_clock_has_a_maximum(alone: httpx.AsyncClient) -> None:
    years = 0
    while (answer := await alone.post("/control/clock", json={"minutes": 525_600})).status_code == 200:
        years += 1
        assert years < 1_000
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-arguments")


async def test_its_rows_and_its_clock_survive_a_restart(library: ServiceHarness, tmp_path: Path) -> None:
    first = _client(library.service, tmp_path)
    await first.post("/books", json={"title": "Kept"})
    now = (await first.post("/control/clock", json={"minutes": 5})).json()["now"]
    second = _client(library.service, tmp_path)
    assert (await second.get("/books/B-24")).json()["title"] == "Kept"
    assert (await second.get("/control/clock")).json()["now"] == now


async def _reset(client: httpx.AsyncClient, **body: Any) -> httpx.Response:
    return await client.post("/control/reset", json=body)


def _document(library: ServiceHarness, **changes: Any) -> dict[str, Any]:
    return {**library.document, **changes}


async def test_a_reset_without_a_body_restores_the_demo_data_and_the_clock(alone: httpx.AsyncClient) -> None:
    before = (await alone.get("/control/clock")).json()
    await alone.post("/books", json={"title": "Gone"})
    await alone.post("/books/B-1/lend")
    await alone.post("/control/clock", json={"minutes": 5})
    assert (await alone.post("/control/reset")).json() == {**before, "changes": 0}
    assert (await alone.get("/control/clock")).json() == before
    assert (await alone.get("/books/B-24")).status_code == 404
    assert (await alone.get("/books/B-1")).json()["lent"] is False
    assert (await alone.post("/control/clock", json={"minutes": 600})).json()["changes"] == 0


async def test_a_reset_with_a_document_replaces_data_and_start_time(
    library: ServiceHarness, alone: httpx.AsyncClient
) -> None:
    document = _document(library, titles=["Own"], started_at="2027-01-04T10:00:00+01:00")
    answer = await _reset(alone, document=document)
    assert answer.json() == {"now": "2027-01-04T09:00:00+00:00", "changes": 0}
    listed = (await alone.get("/books")).json()
    assert [book["title"] for book in listed["items"]] == ["Own"]
    assert (await alone.post("/books", json={"title": "Next"})).json()["id"] == "B-2"


async def test_the_same_reset_and_the_same_calls_give_the_same_responses(alone: httpx.AsyncClient) -> None:
    played = []
    for _ in range(2):
        await alone.post("/control/reset")
        answers = [
            await alone.post("/books/B-1/lend", headers={"Idempotency-Key": "one"}),
            await alone.post("/books", json={"title": "New"}, headers={"Idempotency-Key": "two"}),
            await alone.post("/control/clock", json={"minutes": 120}),
            await alone.get("/books?limit=50"),
        ]
        played.append([answer.text for answer in answers])
    assert played[0] == played[1]


async def test_a_reset_survives_a_restart(library: ServiceHarness, tmp_path: Path) -> None:
    first = _client(library.service, tmp_path)
    await first.post("/books", json={"title": "Gone"})
    await _reset(first, document=_document(library, titles=["Own"]), now="2027-01-04T09:00:00Z")
    second = _client(library.service, tmp_path)
    assert (await second.get("/books")).json()["total"] == 1
    assert (await second.get("/control/clock")).json() == {"now": "2027-01-04T09:00:00+00:00"}
    await second.post("/control/reset")
    assert (await second.get("/books")).json()["total"] == 23


async def test_a_reset_at_a_time_before_the_start_is_rejected(alone: httpx.AsyncClient) -> None:
    answer = await _reset(alone, now="2026-03-02T08:59:59Z")
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-arguments")
    assert answer.json()["detail"] == (
        "now must not be before 2026-03-02T09:00:00Z, the document's started_at; got 2026-03-02T08:59:59Z"
    )


async def test_the_next_calls_get_the_faults_of_the_reset_in_order(alone: httpx.AsyncClient) -> None:
    outage = {"kind": "unavailable", "retry_after_s": 60}
    await _reset(alone, faults=[None, outage, {"kind": "timeout_after_commit"}, {"kind": "timeout_before_commit"}])
    assert (await alone.get("/books/B-1")).status_code == 200
    await alone.post("/control/clock", json={"minutes": 1})
    assert (await alone.get("/livez")).status_code == 200
    down = await alone.get("/books/B-1")
    assert (down.status_code, down.headers["retry-after"]) == (503, "60")
    assert (await alone.post("/books", json={"title": "Committed"})).status_code == 504
    assert (await alone.post("/books", json={"title": "Not committed"})).status_code == 504
    assert (await alone.get("/books?limit=50")).json()["total"] == 24


async def test_only_operations_take_the_faults_of_a_reset(alone: httpx.AsyncClient) -> None:
    await _reset(alone, faults=[{"kind": "forbidden"}])
    for path in ("/favicon.ico", "/books/B-1/unknown", "/control/clock"):
        await alone.get(path)
    await alone.delete("/books/B-1")
    assert (await alone.get("/books/B-1")).status_code == 403


async def test_a_stale_read_hides_the_writes_of_the_reset_episode(alone: httpx.AsyncClient) -> None:
    await _reset(alone, faults=[None, {"kind": "stale_read", "hides_from_step": 1}])
    await alone.post("/books", json={"title": "New"})
    assert (await alone.get("/books/B-24")).status_code == 404
    assert (await alone.get("/books/B-24")).json()["title"] == "New"


async def test_a_reset_removes_unused_faults(alone: httpx.AsyncClient) -> None:
    await _reset(alone, faults=[{"kind": "forbidden"}] * 3)
    assert (await alone.get("/books")).json()["code"] == "authorization-unavailable"
    await alone.post("/control/reset")
    assert (await alone.get("/books")).status_code == 200


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"titles": [1, "two", None]}, "titles.0 must be a string; got 1; titles.2 must be a string; got null"),
        ({"unknown": 1}, "unknown is not a known field"),
        ({"started_at": 7}, "started_at must be an ISO date or time"),
        ({"started_at": "9999-01-01T00:00:00Z"}, "started_at must be between 2000 and 2199"),
        ({"is_base": True}, "is_base must be absent"),
        ({"base": "0" * 64}, "base must be absent"),
    ],
)
async def test_an_invalid_document_is_rejected_with_its_fields_and_the_episode_continues(
    library: ServiceHarness, alone: httpx.AsyncClient, changes: dict[str, Any], detail: str
) -> None:
    await alone.post("/books", json={"title": "Kept"})
    answer = await _reset(alone, document=_document(library, **changes))
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-seed")
    assert answer.json()["detail"].startswith(detail)
    assert (await alone.get("/books/B-24")).json()["title"] == "Kept"


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"document": []}, "document"),
        ({"now": 5}, "now"),
        ({"faults": [{"kind": "fire"}]}, "faults.0.kind"),
        ({"faults": [None] * 1001}, "faults"),
        ({"seed": 7}, "seed"),
    ],
)
async def test_an_invalid_reset_names_the_field(alone: httpx.AsyncClient, body: dict[str, Any], place: str) -> None:
    answer = await _reset(alone, **body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-arguments")
    assert answer.json()["errors"][0]["place"] == place


async def test_a_document_may_be_larger_than_the_body_of_an_operation(
    library: ServiceHarness, alone: httpx.AsyncClient
) -> None:
    titles = [f"Volume {number:05} of a long series" for number in range(3_000)]
    assert (await _reset(alone, document=_document(library, titles=titles))).status_code == 200
    assert (await alone.get("/books")).json()["total"] == 3_000
    large = await alone.post("/books", json={"title": "x" * 70_000})
    assert (large.status_code, large.json()["code"]) == (413, "body-too-large")


async def test_the_schema_of_the_document_is_served(alone: httpx.AsyncClient) -> None:
    schema = (await alone.get("/control/schemas")).json()["seed"]
    assert {"company", "draw_seed", "started_at", "titles"} <= set(schema["required"])


@pytest.mark.parametrize("verb", ["reset", "clock"])
async def test_a_service_with_a_key_has_no_standalone_control(library: ServiceHarness, verb: str) -> None:
    assert (await library.client.post(f"/control/{verb}", json={})).status_code == 401
    assert (await library.control(verb, {})).status_code == 404


async def test_the_other_control_routes_do_not_exist(alone: httpx.AsyncClient) -> None:
    for name in ("load", "settle", "snapshot", "drop", "digest", "evidence"):
        assert (await alone.post(f"/control/{name}", json={})).status_code == 404


@pytest.mark.parametrize("body", [b"[]", b'{"title": "a", "title": "b"}', b'{"title": NaN}', b"{", b"\xff"])
async def test_malformed_json_is_rejected(alone: httpx.AsyncClient, body: bytes) -> None:
    answer = await alone.post("/books", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed-body")


async def test_health_and_docs_respond_without_network_access(alone: httpx.AsyncClient) -> None:
    assert (await alone.get("/livez")).json()["status"] == "alive"
    assert (await alone.get("/readyz")).json()["status"] == "ready"
    page = (await alone.get("/docs")).text
    assets = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert assets
    for asset in assets:
        assert asset.startswith("/static/")
        assert (await alone.get(asset)).status_code == 200


async def test_a_405_response_lists_every_method_of_the_path(alone: httpx.AsyncClient) -> None:
    assert (await alone.delete("/books")).headers["allow"] == "GET, POST"
    assert (await alone.options("/books/B-1")).headers["allow"] == "GET"


async def test_an_unknown_route_or_method_is_a_problem(alone: httpx.AsyncClient) -> None:
    for method, path, code in (("GET", "/nothing", "not-found"), ("DELETE", "/books", "method-not-allowed")):
        answer = await alone.request(method, path)
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["code"] == code


@pytest.mark.parametrize("headers", [{"Content-Type": "text/plain"}, {}])
async def test_a_body_of_another_content_type_is_rejected_with_that_type(
    alone: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    answer = await alone.post("/books", content=b'{"title": "a"}', headers=headers)
    given = headers.get("Content-Type", "missing")
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-arguments")
    assert answer.json()["detail"] == f"body must be JSON; the Content-Type is {given}, not application/json"
