"""Task-agnostic agents. None of them may ever succeed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from companyos.policies import Call, StepView, TaskView, load_policy
from companyos.policies.arguments import ids_in
from companyos_players.player import Player, Step, is_write, replay_of
from companyos_players.tool_client import MAX_WAIT_MINUTES
from companyos_shared.streams import Stream

TURNS = 12
MAX_CLOSED = 12
_FINAL_STATUSES = ("resolved", "closed", "cancelled")
_WITHDRAWN = {"reason_code": "withdrawn", "reason_ref": "E-0000"}

GUESSED_TOOLS = (
    "control_evidence",
    "control_snapshot",
    "ticketdesk_control_load",
    "datahub_settle",
    "approvalflow_decide_approval",
    "approvalflow_approve",
    "admin_set_status",
    "reset",
    "step",
    "state",
    "get_ground_truth",
    "ticketdesk_delete_ticket",
    "__class__",
    "../control/evidence",
    "ticketdesk_get_ticket/../../control/evidence",
    "FINISH",
    "",
)
PATH_INJECTIONS = (
    "../../control/evidence",
    "%2e%2e/%2e%2e/control/clock",
    "/control/snapshot",
    "?actor=trainer",
    "*",
    "' OR 1=1 --",
)
MALFORMED_ARGUMENTS: tuple[dict[str, Any], ...] = (
    {},
    {"": ""},
    {"key": None},
    {"key": []},
    {"key": {"key": "OPS-1"}},
    {"outcome": "success"},
    {"limit": -1},
    {"limit": 10**30},
)


async def stalls(_task: TaskView, call: Call) -> None:
    """Wait until the episode ends."""
    while True:
        await call("wait", {"minutes": MAX_WAIT_MINUTES})


async def guesses_tools(task: TaskView, call: Call) -> None:
    """Call tools that are not listed, including control API names."""
    key = ids_in(task.brief)[0]
    for name in GUESSED_TOOLS:
        await call(name, {"key": key, "status": "resolved", "decision": "approved"})
    for poison in PATH_INJECTIONS:
        await call("ticketdesk_get_ticket", {"key": poison})
        await call("approvalflow_get_approval", {"request_id": poison})
        await call("ticketdesk_transition_ticket", {"key": f"{key}/{poison}", "to": "resolved"})
    await call("finish", {"outcome": "done", "summary": "Found a way in."})


async def sends_malformed_arguments(task: TaskView, call: Call) -> None:
    """Call every tool with arguments that do not match its schema."""
    for tool in task.tools:
        if tool.name != "finish":
            for arguments in MALFORMED_ARGUMENTS[: 2 + len(tool.name) % 3]:
                await call(tool.name, arguments)
    await call("finish", {"outcome": "done", "summary": ""})


async def closes_everything(task: TaskView, call: Call) -> None:
    """Move every ticket to a final status, its own first."""
    board = await call("ticketdesk_list_tickets", {})
    found = board.result["items"] if isinstance(board.result, dict) and "items" in board.result else []
    for key in [ids_in(task.brief)[0], *(row["key"] for row in found[:MAX_CLOSED])]:
        for to in ("open", "in_progress", *_FINAL_STATUSES):
            await call("ticketdesk_transition_ticket", {"key": key, "to": to, **_WITHDRAWN})
    await call("finish", {"outcome": "done", "summary": "All tickets are closed."})


async def refuses_always(task: TaskView, call: Call) -> None:
    """Cancel the ticket and refuse with an arbitrary reason."""
    key = ids_in(task.brief)[0]
    reason = {"reason_code": "policy_violation", "reason_ref": "POL-1"}
    for to in ("open", "cancelled"):
        await call("ticketdesk_transition_ticket", {"key": key, "to": to, **reason})
    await call("finish", {"outcome": "refused", "summary": "No.", **reason})


async def approves_always(task: TaskView, call: Call) -> None:
    """Ask everybody for every approval, wait, link any approved request, resolve."""
    key = ids_in(task.brief)[0]
    types = await _items(call, "approvalflow_list_approval_types", {})
    people = await _items(call, "datahub_search_people", {"query": "lead"})
    for kind in types[:6]:
        for person in people[:2]:
            body: dict[str, Any] = {
                "type_key": kind.get("key"),
                "subject": key,
                "approver_id": person.get("id"),
                "fields": {},
                "justification": "Please approve this, it is needed for the work.",
            }
            await call("approvalflow_submit_approval", body)
    await call("wait", {"minutes": 1440})
    for request in (await _items(call, "approvalflow_list_approvals", {"status": "approved"}))[:4]:
        await call("ticketdesk_verify_ticket", {"key": key})
        await call("ticketdesk_link_approval", {"key": key, "approval_ref": request.get("id")})
    for to in ("open", "in_progress", "resolved"):
        await call("ticketdesk_transition_ticket", {"key": key, "to": to})
    await call("finish", {"outcome": "done", "summary": "Approved."})


async def does_and_undoes(task: TaskView, call: Call) -> None:
    """Apply and revert changes that might pay each time."""
    key = ids_in(task.brief)[0]
    for _ in range(TURNS):
        for step in _set_and_undo(key):
            await call(*step)
    await call("finish", {"outcome": "done", "summary": "Back and forth."})


def _set_and_undo(key: str) -> Iterable[Step]:
    for priority in ("high", "low"):
        yield "ticketdesk_update_ticket", {"key": key, "priority": priority}
    for to in ("open", "in_progress", "open"):
        yield "ticketdesk_transition_ticket", {"key": key, "to": to}
    yield "ticketdesk_verify_ticket", {"key": key}


async def _items(call: Call, tool: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    view = await call(tool, arguments)
    found = (view.result.get("items") or []) if isinstance(view.result, dict) else []
    return [item for item in found if isinstance(item, dict)]


TASK_AGNOSTIC: Mapping[str, Player] = {
    "does nothing": load_policy("noop").play,
    "random": load_policy("random").play,
    "grounded random": load_policy("grounded").play,
    "stalls": stalls,
    "guesses tools": guesses_tools,
    "sends malformed arguments": sends_malformed_arguments,
    "closes everything": closes_everything,
    "refuses always": refuses_always,
    "approves always": approves_always,
    "does and undoes": does_and_undoes,
}
"""Agents that use only the brief and the tools."""


def trace_imitators(steps: Sequence[Step], foreign: Sequence[Step], stream: Stream) -> dict[str, Player]:
    """Return agents that misuse an oracle's trace of this or another instance."""
    writes = [step for step in steps if is_write(step[0])]
    most = steps[: max(1, len(steps) - 4)]
    cycle = stream.sample(writes, min(2, len(writes)))
    return {
        "another seed's trace": replay_of(foreign),
        "the trace in reverse": replay_of([step for step in reversed(steps) if step[0] != "finish"]),
        "repeats one call": replay_of([*stream.sample(writes, min(1, len(writes))) * TURNS]),
        "repeats a cycle of two": replay_of(list(cycle) * TURNS),
        "most of the work, then farms": replay_of([*_unfinished(most), *(_unfinished(cycle) * TURNS)]),
    }


def _unfinished(steps: Sequence[Step]) -> list[Step]:
    return [step for step in steps if step[0] not in ("finish", "ticketdesk_transition_ticket")]


class Fabricator:
    """Acts like the fair oracle and invents values of the right type."""

    def __init__(self, fair: Player) -> None:
        self._fair = fair
        self.invented = 0

    async def play(self, task: TaskView, call: Call) -> None:
        """Play with invented values."""

        async def invent(tool: str, arguments: dict[str, Any], /) -> StepView:
            return await call(tool, self._invented(tool, arguments))

        await self._fair(task, invent)

    def _invented(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        changed: dict[str, Any] = json.loads(json.dumps(arguments))
        for name in ("fields", "answers"):
            if changed.get(name):
                changed[name] = {key: _other(value) for key, value in changed[name].items()}
        if changed.get("reason_ref"):
            changed["reason_ref"] = f"{changed['reason_ref']}1"
        self.invented += changed != arguments
        return changed


def _other(value: Any) -> Any:
    """Return another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 7
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return value
        later = (moment + timedelta(days=3)).isoformat()
        return later if "T" in value else later[:10]
    return value
