"""A service on its own: no key, one local episode, a clock moved by hand, docs without a network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from pydantic import SecretStr

from companyos_shared.framework import Service, ServiceSettings, create_app

if TYPE_CHECKING:
    from companyos_shared.framework.testing import ServiceHarness


def _client(service: Service[object], folder: Path) -> httpx.AsyncClient:  # type: ignore[type-var]
    app = create_app(service, ServiceSettings(service_key=None, service_key_file=None, data_dir=folder))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service")


@pytest.fixture
def alone(library: ServiceHarness, tmp_path: Path) -> httpx.AsyncClient:
    return _client(library.service, tmp_path)


async def test_it_answers_without_a_signature_and_without_a_report(alone: httpx.AsyncClient) -> None:
    answer = await alone.get("/books/B-1")
    assert answer.json()["title"] == "Volume 01"
    assert "x-companyos-report" not in answer.headers


async def test_its_clock_moves_by_hand_and_brings_what_is_due(alone: httpx.AsyncClient) -> None:
    await alone.post("/books/B-1/lend")
    before = (await alone.get("/control/clock")).json()["now"]
    moved = (await alone.post("/control/clock", json={"minutes": 600})).json()
    assert moved["now"] > before
    assert moved["changes"] == 1
    assert (await alone.get("/books/B-1")).json()["lent"] is False


@pytest.mark.parametrize("how", ["variable", "file"])
def test_an_empty_key_is_refused_and_neither_signs_nor_makes_it_standalone(tmp_path: Path, how: str) -> None:
    (tmp_path / "key").write_text("\n")
    given = {"variable": (SecretStr(""), None), "file": (None, tmp_path / "key")}[how]
    settings = ServiceSettings(service_key=given[0], service_key_file=given[1])
    with pytest.raises(ValueError, match="empty"):
        settings.key()


async def test_its_clock_has_an_end(alone: httpx.AsyncClient) -> None:
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


async def test_the_rest_of_the_control_plane_is_not_there(alone: httpx.AsyncClient) -> None:
    for name in ("load", "settle", "snapshot", "drop", "digest", "evidence"):
        assert (await alone.post(f"/control/{name}", json={})).status_code == 404


@pytest.mark.parametrize("body", [b"[]", b'{"title": "a", "title": "b"}', b'{"title": NaN}', b"{", b"\xff"])
async def test_malformed_json_is_refused(alone: httpx.AsyncClient, body: bytes) -> None:
    answer = await alone.post("/books", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed-body")


async def test_health_and_docs_answer_and_the_docs_need_no_network(alone: httpx.AsyncClient) -> None:
    assert (await alone.get("/livez")).json()["status"] == "alive"
    assert (await alone.get("/readyz")).json()["status"] == "ready"
    page = (await alone.get("/docs")).text
    assets = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert assets
    for asset in assets:
        assert asset.startswith("/static/")
        assert (await alone.get(asset)).status_code == 200


async def test_a_refused_method_is_told_every_method_of_the_path(alone: httpx.AsyncClient) -> None:
    assert (await alone.delete("/books")).headers["allow"] == "GET, POST"
    assert (await alone.options("/books/B-1")).headers["allow"] == "GET"


async def test_every_operation_documents_what_is_said_of_a_malformed_body(alone: httpx.AsyncClient) -> None:
    paths = (await alone.get("/openapi.json")).json()["paths"]
    assert all({"400", "413", "422"} <= set(found["responses"]) for path in paths.values() for found in path.values())


async def test_what_is_not_there_is_a_problem(alone: httpx.AsyncClient) -> None:
    for method, path, code in (("GET", "/nothing", "not-found"), ("DELETE", "/books", "method-not-allowed")):
        answer = await alone.request(method, path)
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["code"] == code
