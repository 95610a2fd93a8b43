"""Host names that the gateway accepts, and requests from pages of other sites, which it rejects."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gateway.conftest import NotesGateway, OpenGateway, problem
from tests.gateway.sockets import connected, handshake

PRIVATE_HOSTS = ("127.0.0.1:8000", "10.1.2.3", "[::1]:8000", "localhost:8000", "GATEWAY", "a.local.", "x.internal:1")
PUBLIC_HOSTS = ("companyos.example.org", "evil.com:8000", "127.0.0.1.evil.com", "local", "localhost.evil.com")
NO_HOSTS = ("", "a b", "user@localhost", "localhost:8000:9", "localhost:port", "[::1", "a/b", "localhost,evil.com")
TRAINER = {"trainer_token": "t" * 16}


async def _status(open_gateway: OpenGateway, host: str | list[str], **settings: Any) -> int:
    hosts = [host] if isinstance(host, str) else host
    async with open_gateway(**settings) as gateway:
        headers = [("Host", name) for name in hosts] + [("Authorization", f"Bearer {'t' * 16}")]
        answer = await gateway.http.get("/metadata", headers=headers)
        if answer.status_code != 200:
            assert problem(answer) == (400, "unknown-host")
        return answer.status_code


@pytest.mark.sample(3)
@pytest.mark.parametrize("host", PRIVATE_HOSTS)
async def test_a_host_that_no_public_dns_can_resolve_is_accepted(open_gateway: OpenGateway, host: str) -> None:
    assert await _status(open_gateway, host) == 200


@pytest.mark.parametrize("host", [name for name in PUBLIC_HOSTS if "." in name])
async def test_a_host_that_a_public_dns_may_resolve_is_accepted_only_with_tokens(
    open_gateway: OpenGateway, host: str
) -> None:
    assert await _status(open_gateway, host) == 400
    assert await _status(open_gateway, host, **TRAINER) == 200


@pytest.mark.sample(3)
@pytest.mark.parametrize("host", [*NO_HOSTS, ["localhost", "localhost"]])
async def test_an_invalid_host_is_always_rejected(open_gateway: OpenGateway, host: str | list[str]) -> None:
    assert await _status(open_gateway, host) == 400
    assert await _status(open_gateway, host, **TRAINER) == 400


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    ("names", "host", "status"),
    [
        ("companyos.example.org", "companyos.example.org:443", 200),
        ("CompanyOS.example.org", "companyos.EXAMPLE.org", 200),
        ("companyos.example.org", "localhost", 400),
        ("companyos.example.org, localhost", "localhost:8000", 200),
        ("*.example.org", "a.b.example.org", 200),
        ("*.example.org", "example.org", 400),
        ("*.example.org", "evilexample.org", 400),
        ("*", "whatever.example.org", 200),
    ],
)
async def test_only_configured_hosts_are_accepted(
    open_gateway: OpenGateway, names: str, host: str, status: int
) -> None:
    assert await _status(open_gateway, host, allowed_hosts=names) == status
    assert await _status(open_gateway, host, allowed_hosts=names, **TRAINER) == status


async def test_a_space_accepts_its_own_host(open_gateway: OpenGateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPACE_HOST", "me-companyos.hf.space")
    assert await _status(open_gateway, "me-companyos.hf.space") == 200
    assert await _status(open_gateway, "10.20.30.40:7860") == 200
    assert await _status(open_gateway, "you-companyos.hf.space") == 400


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("origin", "is_own"),
    [
        ("http://127.0.0.1:8000", True),
        ("https://127.0.0.1:8000", True),
        ("http://127.0.0.1:8001", False),
        ("http://localhost:8000", False),
        ("https://evil.com", False),
        ("null", False),
        ("", False),
        ("http://127.0.0.1:8000@evil.com", False),
    ],
)
async def test_a_cross_origin_page_changes_nothing_and_opens_no_socket(
    open_gateway: OpenGateway, origin: str, is_own: bool
) -> None:
    names = [(b"host", b"127.0.0.1:8000"), (b"origin", origin.encode())]
    async with open_gateway() as gateway:
        headers = {"Host": "127.0.0.1:8000", "Origin": origin}
        answer = await gateway.http.post("/reset", json={"scenario": "note_keeping"}, headers=headers)
        if is_own:
            assert answer.status_code == 200
            async with connected(gateway.app, headers=names) as socket:
                await socket.reset()
        else:
            assert problem(answer) == (403, "foreign-origin")
            (closed,) = await handshake(gateway.app, "/ws", names)
            assert (closed["code"], closed["reason"]) == (1008, "foreign-origin")
            assert len(gateway.runtime.engine().store) == 0
        looked = await gateway.http.get("/metadata", headers=headers)
        assert looked.status_code == 200
        assert "access-control-allow-origin" not in looked.headers


@pytest.mark.parametrize("site", [{}, {"Sec-Fetch-Site": "cross-site"}])
async def test_a_page_of_a_configured_host_may_send_requests(open_gateway: OpenGateway, site: dict[str, str]) -> None:
    async with open_gateway(allowed_hosts="127.0.0.1, board.example.org") as gateway:
        headers = {"Host": "127.0.0.1:8000", "Origin": "https://board.example.org", **site}
        answer = await gateway.http.post("/reset", json={"scenario": "note_keeping"}, headers=headers)
        assert answer.status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_a_cross_site_request_by_fetch_metadata_changes_nothing(open_gateway: OpenGateway, site: str) -> None:
    mark = {"Host": "127.0.0.1:8000", "Sec-Fetch-Site": site}
    names = [(b"host", b"127.0.0.1:8000"), (b"sec-fetch-site", site.encode())]
    async with open_gateway() as gateway:
        for method, path in (("POST", "/reset"), ("POST", "/step"), ("POST", "/v1/episodes"), ("POST", "/v1/mcp")):
            refused = await gateway.http.request(method, path, json={"scenario": "note_keeping"}, headers=mark)
            assert problem(refused) == (403, "foreign-origin"), path
        assert problem(await gateway.http.delete("/v1/episodes/any", headers=mark)) == (403, "foreign-origin")
        (closed,) = await handshake(gateway.app, "/ws", names)
        assert (closed["code"], closed["reason"]) == (1008, "foreign-origin")
        assert len(gateway.runtime.engine().store) == 0
        assert (await gateway.http.get("/metadata", headers=mark)).status_code == 200


@pytest.mark.parametrize("site", ["same-origin", "none"])
async def test_same_origin_and_user_initiated_requests_are_accepted(gateway: NotesGateway, site: str) -> None:
    headers = {"Sec-Fetch-Site": site}
    answer = await gateway.http.post("/reset", json={"scenario": "note_keeping"}, headers=headers)
    assert answer.status_code == 200
