"""Names in requests, and responses of workers to unknown names."""

from __future__ import annotations

import pytest

from companyos_gateway.workers.addressing import (
    Name,
    NameKind,
    attached_session,
    creates_episode,
    find_name,
    is_unknown,
    names_in_answer,
    new_episode_id,
    restored_snapshot,
)

TOKEN = "t" * 43
BEARER = [(b"authorization", f"Bearer {TOKEN}".encode())]
EPISODE, SNAPSHOT = NameKind.EPISODE, NameKind.SNAPSHOT
Request = tuple[str, str, bytes, list[tuple[bytes, bytes]], bytes]


@pytest.mark.parametrize(
    ("request_of", "name"),
    [
        (("GET", "/v1/episodes/abc", b"", [], b""), Name(EPISODE, "abc")),
        (("GET", "/v1/episodes/abc/apps/ticketdesk/x", b"", BEARER, b""), Name(EPISODE, "abc")),
        (("POST", "/v1/snapshots/def/fork", b"", [], b'{"count": 2}'), Name(SNAPSHOT, "def")),
        (("GET", "/v1/quarantine/q1", b"", [], b""), Name(NameKind.ITEM, "q1")),
        (("GET", "/console/finished/abc/steps", b"", [], b""), Name(EPISODE, "abc")),
        (("GET", "/state", b"x=1&episode_id=a%2Eb", [], b""), Name(EPISODE, "a.b")),
        (("POST", "/v1/mcp", b"", [(b"x-companyos-episode", b"abc"), *BEARER], b"{}"), Name(EPISODE, "abc")),
        (("POST", "/step", b"", [], b'{"action": {"episode_id": "no"}, "episode_id" : "abc"}'), Name(EPISODE, "abc")),
        (("POST", "/mcp", b"", [], b'{"params": {"session_id": "s1"}}'), Name(NameKind.SESSION, "s1")),
        (("POST", "/console/-/end", b"", [], b"form=end&episode_id=a%2Eb"), Name(EPISODE, "a.b")),
        (("POST", "/v1/mcp", b"", BEARER, b"{}"), Name(NameKind.TOKEN, TOKEN)),
        (("POST", "/reset", b"", [], b'{"resume": "abc"}'), Name(NameKind.TOKEN, "abc")),
        (("POST", "/reset", b"", [], b'{"injected_state": {"snapshot": "d"}, "episode_id": "e"}'), Name(SNAPSHOT, "d")),
        (("POST", "/reset", b"", [], b'{"seed": 1}'), None),
        (("POST", "/reset", b"", [], b'{"episode_id": null, "injected_state": 3, "params": []}'), None),
        (("POST", "/reset", b"", [], b"[1"), None),
        (("GET", "/v1/episodes", b"", [], b""), None),
        (("GET", "/console/", b"", [], b""), None),
        (("GET", "/", b"", [(b"authorization", b"Bearer short")], b""), None),
    ],
)
def test_the_names_in_a_request_are_extracted(request_of: Request, name: Name | None) -> None:
    assert find_name(*request_of, trainer_token=None) == name


@pytest.mark.parametrize("path", ["/reset", "/v1/episodes"])
def test_a_request_that_creates_an_episode_names_only_the_id_in_its_body(path: str) -> None:
    headers, query = [(b"x-companyos-episode", b"other")], b"episode_id=other"
    assert find_name("POST", path, query, headers, b'{"episode_id": "abc"}', None) == Name(EPISODE, "abc")
    assert find_name("POST", path, query, headers, b"{}", None) is None


@pytest.mark.parametrize(
    ("method", "path", "body", "episode_id"),
    [
        ("POST", "/reset", b'{"injected_state": {"snapshot": "d"}, "episode_id": "e"}', "e"),
        ("POST", "/v1/episodes", b'{"seed": 1, "episode_id": "e"}', "e"),
        ("POST", "/console/-/start", b"scenario=x&episode_id=a%2Eb", "a.b"),
        ("POST", "/console/-/start", b"scenario=x&episode_id=", None),
        ("POST", "/reset", b'{"episode_id": ""}', None),
        ("POST", "/reset", b'{"episode_id": 3}', None),
        ("POST", "/reset", b"[1", None),
        ("POST", "/step", b'{"episode_id": "e"}', None),
        ("GET", "/v1/episodes", b"", None),
    ],
)
def test_the_id_of_a_new_episode_is_extracted(method: str, path: str, body: bytes, episode_id: str | None) -> None:
    assert new_episode_id(method, path, body) == episode_id


@pytest.mark.parametrize(
    ("head", "session_id"),
    [
        (b"GET /ws?x=1&session_id=a%2Db HTTP/1.1\r\nHost: h\r\n\r\n", "a-b"),
        (b"GET /ws?session_id= HTTP/1.1\r\n\r\n", None),
        (b"GET /ws HTTP/1.1\r\nReferer: /ws?session_id=a\r\n\r\n", None),
        (b"", None),
    ],
)
def test_the_session_of_a_socket_is_extracted(head: bytes, session_id: str | None) -> None:
    assert attached_session(head) == session_id


@pytest.mark.parametrize(
    ("method", "path", "body", "snapshot"),
    [
        ("POST", "/v1/episodes/e/restore", b'{"snapshot": "s"}', "s"),
        ("POST", "/v1/episodes/e/restore", b'{"snapshot": 3}', None),
        ("POST", "/v1/episodes/e/restore", b"", None),
        ("POST", "/v1/episodes/e/services/x/y/restore", b'{"snapshot": "s"}', None),
        ("GET", "/v1/episodes/e/restore", b'{"snapshot": "s"}', None),
    ],
)
def test_the_snapshot_of_a_restore_is_extracted(method: str, path: str, body: bytes, snapshot: str | None) -> None:
    assert restored_snapshot(method, path, body) == snapshot


def test_the_trainer_token_names_no_episode() -> None:
    assert find_name("POST", "/reset", b"", BEARER, b"{}", trainer_token=TOKEN) is None


def test_a_reset_creates_an_episode_and_a_step_does_not() -> None:
    creating = ("/reset", "/v1/episodes", "/console/-/start")
    assert all(creates_episode("POST", path) for path in creating)
    assert not creates_episode("POST", "/step")
    assert not creates_episode("GET", "/v1/episodes")


@pytest.mark.parametrize(
    ("name", "problem", "expected"),
    [
        (Name(EPISODE, "e"), "unknown-episode", True),
        (Name(EPISODE, "e"), "unknown-token", True),
        (Name(EPISODE, "e"), "unknown-snapshot", False),
        (Name(EPISODE, "e"), "token-required", False),
        (Name(EPISODE, "e"), "episode-done", False),
        (Name(EPISODE, "e"), None, False),
        (Name(SNAPSHOT, "s"), "unknown-snapshot", True),
        (Name(NameKind.TOKEN, "t"), "unknown-episode", True),
    ],
)
def test_only_the_gateways_own_error_about_that_name_is_tried_on_the_next_worker(
    name: Name, problem: str | None, expected: bool
) -> None:
    assert is_unknown(name, problem, b'{"code":"unknown-episode"}') is expected


def test_an_unknown_openenv_session_is_recognized_by_the_body() -> None:
    answer = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown session_id: s1","data":null}}'
    assert is_unknown(Name(NameKind.SESSION, "s1"), None, answer)
    assert not is_unknown(Name(NameKind.SESSION, "s1"), None, b'{"jsonrpc":"2.0","id":1,"result":{}}')


def test_ids_and_tokens_in_the_response_to_a_creating_request_are_remembered() -> None:
    answer = b'[{"episode_id":"a","token":"b"},{"episode_id": "c", "token": null}]'
    assert list(names_in_answer("POST", "/v1/snapshots/s/fork", answer)) == ["a", "b", "c"]
    assert list(names_in_answer("POST", "/reset", answer)) == ["a", "b", "c"]
    assert list(names_in_answer("POST", "/step", answer)) == []
