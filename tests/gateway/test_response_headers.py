"""Security headers: every response of the gateway has them, including errors."""

from __future__ import annotations

import httpx
import pytest

from tests.gateway.conftest import NotesGateway, OpenGateway

HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "content-security-policy": "frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
}


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/livez", 200),
        ("GET", "/readyz", 200),
        ("GET", "/metadata", 200),
        ("GET", "/schema", 200),
        ("GET", "/openapi.json", 200),
        ("GET", "/static/home.js", 200),
        ("GET", "/nothing", 404),
        ("DELETE", "/readyz", 405),
        ("POST", "/reset", 422),
        ("GET", "/v1/episodes/nobody/apps", 404),
    ],
)
async def test_every_response_has_the_headers(gateway: NotesGateway, method: str, path: str, status: int) -> None:
    answer = await gateway.http.request(method, path)
    assert answer.status_code == status
    assert {name for name in HEADERS if name not in answer.headers} == set()
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


async def test_rejected_hosts_and_bodies_have_the_headers(gateway: NotesGateway) -> None:
    for answer in (
        await gateway.http.get("/livez", headers={"Host": "evil.com"}),
        await gateway.http.post("/reset", content=b"{"),
    ):
        assert answer.status_code == 400
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS


async def test_an_internal_error_has_the_headers(gateway: NotesGateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway.runtime, "readiness", None)
    transport = httpx.ASGITransport(gateway.app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://g") as http:
        answer = await http.get("/readyz")
    assert answer.status_code == 500
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS


async def test_a_page_keeps_its_own_content_security_policy(gateway: NotesGateway) -> None:
    page = await gateway.http.get("/")
    assert page.headers.get_list("content-security-policy") == [page.headers["content-security-policy"]]
    assert "default-src 'self'" in page.headers["content-security-policy"]


async def test_a_hugging_face_space_may_be_embedded_by_hugging_face(
    open_gateway: OpenGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPACE_HOST", "me-companyos.hf.space")
    async with open_gateway() as gateway:
        answer = await gateway.http.get("/livez")
    assert answer.headers["content-security-policy"] == "frame-ancestors https://huggingface.co"
