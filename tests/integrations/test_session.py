"""A session outlives its connection: every call takes effect once, even if requests or responses are lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest
from websockets.sync.server import ServerConnection, serve

from companyos.client import ApiError
from companyos.contract import Outcome
from companyos.integrations.session import Session
from companyos.policies import EpisodeOverError
from tests.integrations.tcp_relay import Relay

pytestmark = pytest.mark.integration


@pytest.fixture
def relay(url: str) -> Iterator[Relay]:
    with Relay(url) as relay:
        yield relay


@pytest.fixture
def session(relay: Relay) -> Iterator[Session]:
    session = Session(relay.url)
    session.reset(scenario="bug_escalation", seed=3, chaos=0, toolset="task")
    yield session
    session.close()


def test_a_call_with_a_lost_response_is_made_once_and_its_response_returned(relay: Relay, session: Session) -> None:
    before = session.call("wait", {"minutes": 10})
    relay.lose_next_answer()
    after = session.call("wait", {"minutes": 20})
    assert relay.lost == 1
    assert after.result == {"waited_minutes": 20}
    assert (after.now - before.now).total_seconds() == 20 * 60
    assert session.end().steps == 3  # two waits, and giving up


def test_a_finish_with_a_lost_response_is_recognized(relay: Relay, session: Session) -> None:
    relay.lose_next_answer()
    ending = session.end()
    assert relay.lost == 1
    assert (ending.outcome, ending.success, ending.steps) == (Outcome.FAILED, False, 1)
    with pytest.raises(EpisodeOverError, match="the episode is over"):
        session.call("wait", {"minutes": 5})


def test_a_reset_with_a_lost_response_is_retried(relay: Relay, session: Session) -> None:
    relay.lose_next_answer()
    assert session.reset(scenario="bug_escalation", seed=4, chaos=0).steps_left > 0
    assert session.call("wait", {"minutes": 5}).error is None


def test_rejected_and_invalid_calls_are_counted(session: Session) -> None:
    session.call("ticketdesk_get_ticket", {"key": "NO-1"})
    session.call("wait", {"minutes": "soon"})
    session.call("no_such_tool", {})
    ending = session.end()
    assert (ending.refused, ending.invalid, ending.milestones) == (1, 2, 0)
    assert ending.return_ < -5


def test_a_call_that_is_too_large_is_rejected_and_counted_as_invalid(session: Session) -> None:
    with pytest.raises(ApiError, match="at most 65536 bytes; got 1100"):
        session.call("wait", {"until": "x" * 1_100_000})
    assert session.call("wait", {"minutes": 5}).error is None
    assert session.end().invalid == 1


def test_a_call_whose_connection_is_lost_each_time_ends_with_an_error() -> None:
    with serve(_close_at_steps, "127.0.0.1", 0) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        session = Session(f"http://127.0.0.1:{server.socket.getsockname()[1]}")
        session.reset(seed=1)
        with pytest.raises(ConnectionError, match="The connection was lost in each of 5 attempts to call 'wait'"):
            session.call("wait", {"minutes": 10})
        session.close()
        server.shutdown()


def _close_at_steps(connection: ServerConnection) -> None:
    now = "2026-11-20T09:30:00Z"
    brief = {"brief": "Wait.", "company": "Tiny", "acting_as": "E-1", "now": now, "steps_left": 20}
    data: dict[str, dict[str, Any]] = {
        "reset": {"observation": brief, "reward": None, "done": False},
        "state": {"episode_id": "tiny", "token": "token", "now": now, "step_count": 0},
    }
    for text in connection:
        kind = json.loads(text)["type"]
        if kind == "step":
            return
        connection.send(json.dumps({"type": "observation" if kind == "reset" else kind, "data": data.get(kind)}))
