"""Which worker a request belongs to, as far as the request itself says."""

from __future__ import annotations

import pytest

from companyos_gateway.workers.addressing import (
    client_headers,
    creates_episode,
    is_unknown,
    keys_in_answer,
    named_key,
    names_unknown,
)

TOKEN = "t" * 43
BEARER = [(b"authorization", f"Bearer {TOKEN}".encode())]


@pytest.mark.parametrize(
    ("request_of", "key"),
    [
        (("GET", "/v1/episodes/abc", b"", [], b""), "abc"),
        (("GET", "/v1/episodes/abc/apps/ticketdesk/x", b"", BEARER, b""), "abc"),
        (("POST", "/v1/snapshots/def/fork", b"", [], b'{"count": 2}'), "def"),
        (("GET", "/v1/quarantine/q1", b"", [], b""), "q1"),
        (("GET", "/console/finished/abc/steps", b"", [], b""), "abc"),
        (("GET", "/state", b"x=1&episode_id=a%2Eb", [], b""), "a.b"),
        (("POST", "/v1/mcp", b"", [(b"x-companyos-episode", b"abc"), *BEARER], b"{}"), "abc"),
        (("POST", "/step", b"", [], b'{"action": {}, "episode_id" : "abc"}'), "abc"),
        (("POST", "/mcp", b"", [], b'{"params": {"session_id": "s1"}}'), "s1"),
        (("POST", "/console/-/end", b"", [], b"form=end&episode_id=a%2Eb"), "a.b"),
        (("POST", "/v1/mcp", b"", BEARER, b"{}"), TOKEN),
        (("POST", "/reset", b"", [], b'{"seed": 1}'), None),
        (("GET", "/v1/episodes", b"", [], b""), None),
        (("GET", "/console/", b"", [], b""), None),
        (("GET", "/", b"", [(b"authorization", b"Bearer short")], b""), None),
    ],
)
def test_a_request_names_its_episode(
    request_of: tuple[str, str, bytes, list[tuple[bytes, bytes]], bytes], key: str | None
) -> None:
    assert named_key(*request_of, trainer=None) == key


def test_the_trainers_token_names_no_episode() -> None:
    assert named_key("POST", "/reset", b"", BEARER, b"{}", trainer=TOKEN) is None


def test_a_reset_creates_an_episode_and_a_step_does_not() -> None:
    assert [creates_episode("POST", path) for path in ("/reset", "/v1/episodes", "/step")] == [True, True, False]
    assert not creates_episode("GET", "/v1/episodes")


def test_only_a_refusal_that_names_what_is_unknown_leads_to_the_next_worker() -> None:
    assert is_unknown(404, b"")
    assert is_unknown(401, b"")
    assert is_unknown(200, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"unknown-episode: No."}}')
    assert names_unknown(
        b'\x81\x50{"type":"error","data":{"message":"unknown-snapshot: No.","code":"EXECUTION_ERROR"}}'
    )
    assert not is_unknown(200, b'{"observation":{"error":null},"episode_id":"unknown-episode"}')
    assert not is_unknown(200, b'{"jsonrpc":"2.0","id":1,"result":{"text":"{\\"type\\":\\"error\\" unknown-episode:"}}')
    assert not is_unknown(409, b'{"code":"episode-done"}')


def test_what_an_answer_gives_out_is_remembered() -> None:
    answer = b'[{"episode_id":"a","token":"b"},{"episode_id": "c", "token": null}]'
    assert list(keys_in_answer(answer)) == ["a", "b", "c"]


def test_a_client_cannot_say_what_its_address_is_unless_it_is_a_trusted_proxy() -> None:
    said = [(b"x-forwarded-for", b"6.6.6.6, 8.8.8.8"), (b"x-forwarded-proto", b"https")]
    told = {name: client_headers("9.9.9.9", said, {"FORWARDED_ALLOW_IPS": name}) for name in ("", "1.1.1.1", "9.9.9.9")}
    own = [(b"x-forwarded-for", b"9.9.9.9"), (b"x-forwarded-proto", b"http")]
    assert told == {
        "": own,
        "1.1.1.1": own,
        "9.9.9.9": [(b"x-forwarded-for", b"8.8.8.8"), (b"x-forwarded-proto", b"https")],
    }
