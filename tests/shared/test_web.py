"""Requests to any app: host names, pages of other sites, security headers, and the path below the root path."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from companyos_shared.framework import ServiceSettings, create_app
from companyos_shared.framework.testing import ServiceHarness
from companyos_shared.web.route_path import route_path

OWN = "127.0.0.1:8001"


def _client(library: ServiceHarness, folder: Path, allowed_hosts: str = "") -> httpx.AsyncClient:
    settings = ServiceSettings(service_key=None, service_key_file=None, data_dir=folder, allowed_hosts=allowed_hosts)
    app = create_app(library.service, settings)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=f"http://{OWN}")


@pytest.mark.parametrize("path", ["/books/B-1", "/livez", "/docs", "/openapi.json", "/control/clock", "/-/metrics"])
async def test_an_unknown_host_cannot_read(library: ServiceHarness, tmp_path: Path, path: str) -> None:
    async with _client(library, tmp_path) as http:
        refused = await http.get(path, headers={"Host": "rebound.evil.com:8001"})
        assert (refused.status_code, refused.json()["code"]) == (400, "unknown-host")
        for host in (OWN, "localhost:8001", "[::1]:8001", "ticketdesk-sandbox:8000", "desk.local"):
            assert (await http.get(path, headers={"Host": host})).status_code == 200


async def test_a_configured_host_is_accepted(library: ServiceHarness, tmp_path: Path) -> None:
    async with _client(library, tmp_path, "library.example.org, 127.0.0.1") as http:
        assert (await http.get("/books/B-1", headers={"Host": "library.example.org"})).status_code == 200
        assert (await http.get("/books/B-1")).status_code == 200
        assert (await http.get("/books/B-1", headers={"Host": "localhost"})).status_code == 400


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.com"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:8002"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Origin": f"http://{OWN}"},
    ],
)
async def test_a_cross_origin_page_cannot_write(
    library: ServiceHarness, tmp_path: Path, headers: dict[str, str]
) -> None:
    async with _client(library, tmp_path) as http:
        for path, body in (("/books", {"title": "Foreign"}), ("/control/clock", {"minutes": 5})):
            refused = await http.post(path, json=body, headers=headers)
            assert (refused.status_code, refused.json()["code"]) == (403, "foreign-origin")
        assert (await http.get("/books/B-24")).status_code == 404


@pytest.mark.parametrize("headers", [{}, {"Origin": f"http://{OWN}"}, {"Sec-Fetch-Site": "same-origin"}])
async def test_same_origin_pages_and_other_programs_can_write(
    library: ServiceHarness, tmp_path: Path, headers: dict[str, str]
) -> None:
    async with _client(library, tmp_path) as http:
        assert (await http.post("/books", json={"title": "Own"}, headers=headers)).status_code == 201


async def test_a_signed_call_is_accepted_for_any_host(library: ServiceHarness) -> None:
    library.client.headers["Host"] = "ticketdesk.prod.example.org:8000"
    assert (await library.get("/books/B-1")).status_code == 200


HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "content-security-policy": "frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
}


@pytest.mark.parametrize("key", [None, SecretStr("a key")])
@pytest.mark.parametrize("path", ["/livez", "/openapi.json", "/docs", "/books/B-1", "/nothing", "/books?limit=x"])
async def test_every_response_has_the_headers(
    library: ServiceHarness, tmp_path: Path, key: SecretStr | None, path: str
) -> None:
    app = create_app(library.service, ServiceSettings(service_key=key, service_key_file=None, data_dir=tmp_path))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service") as http:
        answer = await http.get(path)
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS


@pytest.mark.parametrize(
    ("root_path", "path", "expected"),
    [
        ("", "/step", "/step"),
        ("/company", "/company/step", "/step"),
        ("/company/", "/company/step", "/step"),
        ("/company", "/company", ""),
        ("/company", "/companyos/step", "/companyos/step"),
        ("/company", "/step", "/step"),
    ],
)
def test_the_root_path_is_removed(root_path: str, path: str, expected: str) -> None:
    assert route_path({"root_path": root_path, "path": path}) == expected


def test_a_scope_without_a_root_path_keeps_its_path() -> None:
    assert route_path({"path": "/step"}) == "/step"
