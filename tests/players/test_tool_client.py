"""Tool client: transport failures are retried, and nothing is applied twice."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from companyos.policies import EpisodeOverError, StepView
from companyos_players import TicketSkill, ToolClient, ToolRefusedError
from companyos_players.tool_client import LAG_MINUTES, MAX_TRIES

NOW = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)


def _view(result: Any, *, done: bool = False, error: str | None = None) -> StepView:
    return StepView(result=result, error=error, reward=0.0, done=done, now=NOW, steps_left=9)


def _problem(code: str, status: int = 503) -> StepView:
    return _view({"type": "about:blank", "title": "No", "status": status, "code": code})


class ScriptedCall:
    """Returns prepared responses in order."""

    def __init__(self, *answers: StepView) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._answers = list(answers)

    async def __call__(self, tool: str, arguments: dict[str, Any], /) -> StepView:
        self.calls.append((tool, arguments))
        return self._answers.pop(0)


@pytest.mark.parametrize("code", ["service-unavailable", "too-many-requests", "timeout", "authorization-unavailable"])
async def test_an_unavailable_read_is_retried_until_it_is_answered(code: str) -> None:
    scripted_call = ScriptedCall(_problem(code), _problem(code), _view({"id": 1}))
    assert await ToolClient(scripted_call).call("get_note", note_id=1) == {"id": 1}
    assert scripted_call.calls == [("get_note", {"note_id": 1})] * 3


@pytest.mark.parametrize(("seconds", "minutes"), [(60, 1), (61, 2), (1500, 25)])
async def test_the_client_waits_for_the_stated_retry_time(seconds: int, minutes: int) -> None:
    limited = _problem("authorization-unavailable", 403)
    limited.result["retry_after_s"] = seconds
    scripted_call = ScriptedCall(limited, _view({"waited_minutes": minutes}), _view({"id": 1}))
    assert await ToolClient(scripted_call).call("get_note", note_id=1) == {"id": 1}
    assert scripted_call.calls[1] == ("wait", {"minutes": minutes})


async def test_an_outage_that_has_ended_is_not_waited_for() -> None:
    over = _problem("service-unavailable")
    over.result["retry_after_s"] = 0
    scripted_call = ScriptedCall(over, _view({"id": 1}))
    assert await ToolClient(scripted_call).call("get_note", note_id=1) == {"id": 1}


async def test_a_stale_list_is_read_again_later() -> None:
    new, old = {"id": "N-1", "version": 2}, {"id": "N-1", "version": 1}
    pages = [_view({"items": [row], "next_cursor": None}) for row in (old, new)]
    scripted_call = ScriptedCall(_view(new), pages[0], _view({}), pages[1])
    client = ToolClient(scripted_call)
    await client.call("notes_update_note", note_id="N-1")
    assert await client.list_all("notes_list_notes") == [new]
    assert scripted_call.calls[2] == ("wait", {"minutes": LAG_MINUTES})


async def test_a_known_object_that_is_not_found_is_read_again_later() -> None:
    note = {"id": "N-1", "version": 1}
    scripted_call = ScriptedCall(_view(note), _problem("note-not-found", 404), _view({}), _view(note))
    client = ToolClient(scripted_call)
    await client.create("notes_write_note", text="a")
    assert await client.call("notes_get_note", note_id="N-1") == note


async def test_a_rejected_call_is_not_retried() -> None:
    scripted_call = ScriptedCall(_problem("note-not-found", 404))
    with pytest.raises(ToolRefusedError) as refused:
        await ToolClient(scripted_call).call("get_note", note_id=1)
    assert refused.value.code == "note-not-found"
    assert len(scripted_call.calls) == 1


async def test_invalid_arguments_are_rejected() -> None:
    with pytest.raises(ToolRefusedError, match="invalid_args"):
        await ToolClient(ScriptedCall(_view(None, error="invalid_args"))).call("get_note")


async def test_ten_consecutive_faults_are_retried() -> None:
    scripted_call = ScriptedCall(*[_problem("timeout")] * 10, _view({"id": "N-1"}))
    assert await ToolClient(scripted_call).call("get_note", note_id=1) == {"id": "N-1"}


async def test_retries_are_limited() -> None:
    scripted_call = ScriptedCall(*[_problem("timeout")] * (MAX_TRIES + 1))
    with pytest.raises(ToolRefusedError, match="given-up"):
        await ToolClient(scripted_call).call("get_note", note_id=1)
    assert len(scripted_call.calls) == MAX_TRIES


async def test_a_creation_is_retried_with_the_same_idempotency_key_and_the_next_has_another() -> None:
    scripted_call = ScriptedCall(_problem("timeout"), _view({"id": 1}), _view({"id": 2}))
    client = ToolClient(scripted_call)
    await client.create("write_note", text="a")
    await client.create("write_note", text="b")
    keys = [arguments["idempotency_key"] for _, arguments in scripted_call.calls]
    assert keys[0] == keys[1] != keys[2]


async def test_after_a_timeout_a_change_is_checked_before_it_is_retried() -> None:
    scripted_call = ScriptedCall(_problem("timeout", 504), _view({}), _view({"status": "open"}))
    ticket = TicketSkill(ToolClient(scripted_call), "OPS-1")
    await ticket.transition("open")
    tools = ["ticketdesk_transition_ticket", "wait", "ticketdesk_get_ticket"]
    assert [tool for tool, _ in scripted_call.calls] == tools
    assert ticket.known["status"] == "open"


async def test_a_change_that_was_not_applied_is_retried() -> None:
    scripted_call = ScriptedCall(
        _problem("timeout", 504), _view({}), _view({"status": None}), _view({"status": "open"})
    )
    await TicketSkill(ToolClient(scripted_call), "OPS-1").transition("open")
    assert [tool for tool, _ in scripted_call.calls][-1] == "ticketdesk_transition_ticket"


async def test_a_change_that_was_not_executed_is_retried_without_a_check() -> None:
    scripted_call = ScriptedCall(_problem("service-unavailable"), _view({"status": "open"}))
    await TicketSkill(ToolClient(scripted_call), "OPS-1").transition("open")
    assert [tool for tool, _ in scripted_call.calls] == ["ticketdesk_transition_ticket"] * 2


async def test_setting_a_member_twice_has_the_effect_of_once() -> None:
    scripted_call = ScriptedCall(_problem("timeout", 504), _view({}))
    ticket = TicketSkill(ToolClient(scripted_call), "OPS-1")
    await ticket.set_priority("high")
    assert [tool for tool, _ in scripted_call.calls] == ["ticketdesk_update_ticket"] * 2
    assert ticket.known == {"priority": "high"}


async def test_a_rejected_change_raises_an_error() -> None:
    with pytest.raises(ToolRefusedError, match="ticket-blocked"):
        await TicketSkill(ToolClient(ScriptedCall(_problem("ticket-blocked", 409))), "OPS-1").transition("resolved")


async def test_a_list_is_read_to_its_last_page() -> None:
    first = {"items": [{"id": 1}], "total": 2, "next_cursor": "more"}
    last = {"items": [{"id": 2}], "total": 2, "next_cursor": None}
    scripted_call = ScriptedCall(_view(first), _view(last))
    assert await ToolClient(scripted_call).list_all("list_notes", word="x") == [{"id": 1}, {"id": 2}]
    assert scripted_call.calls[1] == ("list_notes", {"word": "x", "cursor": "more"})


async def test_the_play_ends_with_the_episode() -> None:
    with pytest.raises(EpisodeOverError):
        await ToolClient(ScriptedCall(_view({}, done=True))).finish("done", "Done.")
    with pytest.raises(EpisodeOverError):
        await ToolClient(ScriptedCall(_view({}, done=True))).call("get_note")


async def test_a_ticket_that_a_colleague_changed_after_a_lost_response_is_not_opened_again() -> None:
    lost, blocked = _problem("timeout"), _view({"key": "OPS-1", "status": "blocked"})
    scripted_call = ScriptedCall(_view({"key": "OPS-1", "status": None}), lost, _view({"waited_minutes": 10}), blocked)
    ticket = TicketSkill(ToolClient(scripted_call), "OPS-1")
    await ticket.read()
    await ticket.triage()
    assert [tool for tool, _ in scripted_call.calls].count("ticketdesk_transition_ticket") == 1
