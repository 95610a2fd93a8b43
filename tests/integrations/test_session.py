"""A session outlives its connection: every call takes effect once, even if requests or responses are lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

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
