"""Bad input over real connections: a clear error with a stable code, and no effect on other sessions or episodes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from websockets.sync.client import ClientConnection, connect

from tests.integration.http_episode import HttpEpisode

TOO_LARGE = "x" * (64 * 1024 + 1)
TOO_DEEP = '{"seed":' + "[" * 100_000 + "]" * 100_000 + "}"
LIST_TICKETS = {"tool_name": "ticketdesk_list_tickets", "arguments": {}}

BAD_RESETS = [
    ({"scenario": "coffee_break"}, 422, "unknown-scenario"),
    ({"scenario": 7}, 422, "invalid-reset"),
    *[({"seed": seed}, 422, "invalid-reset") for seed in (-1, "7", "abc", 1.5, True, [7], {"n": 7}, 2**53)],
    *[({"chaos": chaos}, 422, "invalid-reset") for chaos in (-1, 5, "1", 0.5)],
    ({"difficulty": "easy"}, 422, "invalid-reset"),
    ({"seed": 1, "Seed": 2}, 422, "invalid-reset"),
    ({"episode_id": "../../etc"}, 422, "invalid-reset"),
]

BAD_BODIES = [
    ("[]", {400, 422}),
    (TOO_DEEP, {400, 413, 422}),
    (json.dumps({"scenario": TOO_LARGE}), {413}),
    ("\ud800".encode("utf-8", "surrogatepass"), {400, 422}),
    (b"\xff\xfe", {400, 422}),
]

BAD_ACTIONS = [
    ("coffee_make", {}, "tool_not_found"),
    ("ticketdesk_control_drop", {}, "tool_not_found"),
    ("ticketdesk_get_ticket", {}, "invalid_args"),
    ("ticketdesk_get_ticket", {"key": 7}, "invalid_args"),
    ("ticketdesk_get_ticket", {"key": None}, "invalid_args"),
    ("ticketdesk_get_ticket", {"key": ["OPS-1"]}, "invalid_args"),
    ("ticketdesk_list_tickets", {"colour": "red"}, "invalid_args"),
    ("ticketdesk_list_tickets", {"limit": "10"}, "invalid_args"),
    ("ticketdesk_list_tickets", {"limit": True}, "invalid_args"),
    ("ticketdesk_create_ticket", {"title": {"nested": 1}}, "invalid_args"),
    ("wait", {}, "invalid_args"),
    ("wait", {"minutes": 0}, "invalid_args"),
    ("wait", {"minutes": 5, "until": "next_working_morning"}, "invalid_args"),
    ("finish", {"outcome": "perhaps", "summary": "?"}, "invalid_args"),
]


@pytest.fixture
def other_episode(url: str, http: requests.Session) -> Iterator[HttpEpisode]:
    """Provide another episode, whose state must not change."""
    other = HttpEpisode(url, http)
    other.reset(seed=2, chaos=0)
    other.step("ticketdesk_list_tickets")
    before = other.state()
    yield other
    assert other.state() == before
    assert other.step("ticketdesk_list_tickets")["observation"]["error"] is None


@pytest.fixture
def socket(url: str) -> Iterator[ClientConnection]:
    with connect(url.replace("http", "ws", 1) + "/ws", proxy=None, max_size=None) as connection:
        yield connection


def _exchange(socket: ClientConnection, message: Any) -> dict[str, Any]:
    socket.send(message if isinstance(message, str | bytes) else json.dumps(message))
    answer: dict[str, Any] = json.loads(socket.recv(timeout=20))
    return answer


def _is_problem(answer: requests.Response, code: str | None = None) -> bool:
    body = answer.json()
    return (
        answer.headers["content-type"].startswith("application/problem+json")
        and body["status"] == answer.status_code
        and bool(body["code"])
        and code in (None, body["code"])
    )


@pytest.mark.parametrize(("options", "status", "code"), BAD_RESETS, ids=str)
def test_an_invalid_reset_is_rejected_with_a_code(
    url: str, http: requests.Session, options: dict[str, Any], status: int, code: str
) -> None:
    answer = http.post(f"{url}/reset", json=options)
    assert answer.status_code == status
    assert _is_problem(answer, code)


@pytest.mark.parametrize("path", ["/reset", "/step"])
@pytest.mark.parametrize(("body", "statuses"), BAD_BODIES, ids=lambda value: repr(value)[:30])
def test_a_body_that_is_not_an_object_is_rejected(
    url: str, http: requests.Session, other_episode: HttpEpisode, path: str, body: str | bytes, statuses: set[int]
) -> None:
    answer = http.post(f"{url}{path}", data=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in statuses
    assert _is_problem(answer)


@pytest.mark.parametrize(("tool_name", "arguments", "kind"), BAD_ACTIONS, ids=str)
def test_an_invalid_call_is_a_step_that_costs_reward(
    episode: HttpEpisode, other_episode: HttpEpisode, tool_name: str, arguments: dict[str, Any], kind: str
) -> None:
    answer = episode.step(tool_name, **arguments)
    assert answer["observation"]["error"]["error_type"] == kind
    assert answer["reward"] == pytest.approx(-1.1)
    assert not answer["done"]
    assert episode.state()["step_count"] == 1
    assert episode.result("ticketdesk_list_tickets")["items"]


def test_a_step_after_the_end_is_rejected(episode: HttpEpisode, other_episode: HttpEpisode) -> None:
    assert episode.step("finish", outcome="done", summary="Nothing was done.")["done"]
    before = episode.state()
    answer = episode.post({"episode_id": episode.id, "action": LIST_TICKETS})
    assert answer.status_code == 409
    assert _is_problem(answer, "episode-done")
    assert episode.state() == before


def test_a_live_id_is_rejected(url: str, http: requests.Session, episode: HttpEpisode) -> None:
    answer = http.post(f"{url}/reset", json={"episode_id": episode.id})
    assert answer.status_code == 409
    assert _is_problem(answer, "episode-exists")
    assert episode.result("ticketdesk_list_tickets")["items"]


@pytest.mark.parametrize("path", ["/state", "/render"])
def test_reading_an_unknown_episode_is_rejected(url: str, http: requests.Session, path: str) -> None:
    answer = http.get(f"{url}{path}", params={"episode_id": "nobody"})
    assert answer.status_code == 404
    assert _is_problem(answer, "unknown-episode")


@pytest.mark.parametrize(("options", "_status", "code"), BAD_RESETS, ids=str)
def test_a_session_continues_after_an_invalid_reset(
    socket: ClientConnection, options: dict[str, Any], _status: int, code: str
) -> None:
    answer = _exchange(socket, {"type": "reset", "data": options})
    assert answer["type"] == "error"
    assert answer["data"]["message"].startswith(code)
    _plays_on(socket)


@pytest.mark.parametrize(("body", "_statuses"), BAD_BODIES, ids=lambda value: repr(value)[:30])
def test_a_session_continues_after_an_invalid_message(
    socket: ClientConnection, other_episode: HttpEpisode, body: str | bytes, _statuses: set[int]
) -> None:
    assert _exchange(socket, body)["type"] == "error"
    _plays_on(socket)


def test_a_session_continues_after_invalid_calls_and_after_the_end(
    socket: ClientConnection, other_episode: HttpEpisode
) -> None:
    assert _exchange(socket, {"type": "reset", "data": {"seed": 1, "chaos": 0}})["type"] == "observation"
    for tool_name, arguments, kind in BAD_ACTIONS:
        action = {"type": "call_tool", "tool_name": tool_name, "arguments": arguments}
        answer = _exchange(socket, {"type": "step", "data": action})
        assert answer["data"]["observation"]["error"]["error_type"] == kind
    finish = {"type": "call_tool", "tool_name": "finish", "arguments": {"outcome": "done", "summary": "Nothing."}}
    assert _exchange(socket, {"type": "step", "data": finish})["data"]["done"]
    answer = _exchange(socket, {"type": "step", "data": LIST_TICKETS | {"type": "call_tool"}})
    assert answer["type"] == "error"
    assert answer["data"]["message"].startswith("episode-done")
    _plays_on(socket)


def _plays_on(socket: ClientConnection) -> None:
    assert _exchange(socket, {"type": "reset", "data": {"seed": 1, "chaos": 0}})["type"] == "observation"
    answer = _exchange(socket, {"type": "step", "data": LIST_TICKETS | {"type": "call_tool"}})
    assert answer["data"]["observation"]["result"]["items"]
