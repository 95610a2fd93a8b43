"""Security headers: every response of the gateway has them, including errors."""

from __future__ import annotations

from typing import Any

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
    ("method", "path", "options", "status"),
    [
        ("GET", "/", {}, 200),
        ("GET", "/docs", {}, 200),
        ("GET", "/livez", {}, 200),
        ("GET", "/readyz", {}, 200),
        ("GET", "/metadata", {}, 200),
        ("GET", "/schema", {}, 200),
        ("GET", "/openapi.json", {}, 200),
        ("GET", "/static/home.js", {}, 200),
        ("GET", "/nothing", {}, 404),
        ("DELETE", "/readyz", {}, 405),
        ("POST", "/reset", {}, 422),
        ("GET", "/v1/episodes/nobody/apps", {}, 404),
        ("GET", "/livez", {"headers": {"Host": "evil.com"}}, 400),
        ("POST", "/reset", {"content": b"{"}, 400),
    ],
)
async def test_every_response_has_the_headers(
    gateway: NotesGateway, method: str, path: str, options: dict[str, Any], status: int
) -> None:
    answer = await gateway.http.request(method, path, **options)
    assert answer.status_code == status
    assert {name for name in HEADERS if name not in answer.headers} == set()
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("method", "path", "options", "code"),
    [
        ("GET", "/nothing", {}, "not-found"),
        ("GET", "/nothing", {"headers": {"Accept": "text/html"}}, "not-found"),
        ("DELETE", "/readyz", {}, "method-not-allowed"),
        ("GET", "/v1/tools?format=x", {}, "invalid-request"),
        ("POST", "/companyos/task", {"json": {"split": "test", "index": "1"}}, "invalid-request"),
        ("POST", "/reset", {"json": {"sed": 1}}, "invalid-reset"),
        ("POST", "/reset", {"content": b"{"}, "malformed-json"),
        ("POST", "/v1/mcp", {"content": b"{"}, "malformed-json"),
        ("POST", "/mcp", {"content": b"{"}, "malformed-json"),
        ("POST", "/console/-/start", {"content": b"x" * 70_000}, "body-too-large"),
        ("POST", "/console/-/start", {"data": {"form": "start", "seed": "none"}}, "invalid-reset"),
        ("GET", "/v1/episodes/nobody/apps", {}, "unknown-episode"),
        ("GET", "/v1/episodes/live/apps/-/open?id=NONE-1", {}, "unknown-object"),
        ("GET", "/livez", {"headers": {"Host": "evil.com"}}, "unknown-host"),
        ("POST", "/reset", {"headers": {"Origin": "http://evil.com"}}, "foreign-origin"),
    ],
)
async def test_every_error_of_the_gateway_has_its_code_in_a_header(
    gateway: NotesGateway, method: str, path: str, options: dict[str, Any], code: str
) -> None:
    await gateway.reset(episode_id="live")
    answer = await gateway.http.request(method, path, **options)
    assert answer.headers.get("X-CompanyOS-Problem") == code


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
        for path in ("/livez", "/"):
            policy = (await gateway.http.get(path)).headers["content-security-policy"]
            assert policy.endswith("frame-ancestors https://huggingface.co")
