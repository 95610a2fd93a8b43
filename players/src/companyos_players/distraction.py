"""A distracted player: it reads similar tickets, new tickets and other people's comments."""

from __future__ import annotations

from typing import Any

from companyos.policies import Call, StepView, TaskView
from companyos.policies.arguments import ids_in
from companyos_players.field_names import restore_field_names
from companyos_players.player import Player

DISTRACTIONS = frozenset({"duplicate_ticket", "distractor_tickets", "new_tickets", "colleague_comments"})
"""Chaos kinds that cost steps only if the agent reads every ticket."""

_REPEAT_AFTER = 20
_MAX_ROUNDS = 2
_MAX_TRIES = 4
_MAX_PAGES = 6


def distract(fair: Player) -> Player:
    """Return the fair oracle wrapped to list all tickets repeatedly and open each of them."""

    async def play(task: TaskView, call: Call) -> None:
        read = restore_field_names(task, call)
        key, known = ids_in(task.brief)[0], set[str]()
        taken = 0

        async def call_and_browse(tool: str, arguments: dict[str, Any], /) -> StepView:
            nonlocal taken
            if taken % _REPEAT_AFTER == 0 and taken < _REPEAT_AFTER * _MAX_ROUNDS:
                await _browse_tickets(read, key, known)
            taken += 1
            return await call(tool, arguments)

        await fair(task, call_and_browse)

    return play


async def _browse_tickets(read: Call, key: str, known: set[str]) -> None:
    """Open every unread ticket of the team, and look up the authors of new comments on the task's own ticket."""
    own = await _call_with_retries(read, "ticketdesk_get_ticket", {"key": key})
    team = {"team_id": own["team_id"]} if "team_id" in own else {}
    for row in await _rows(read, "ticketdesk_list_tickets", team):
        if row["key"] not in known:
            known.add(row["key"])
            await _call_with_retries(read, "ticketdesk_get_ticket", {"key": row["key"]})
    for comment in await _rows(read, "ticketdesk_list_comments", {"key": key}):
        if comment["id"] not in known:
            known.add(comment["id"])
            await _call_with_retries(read, "datahub_get_person", {"person_id": comment["author_id"]})


async def _rows(read: Call, tool: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    cursor: dict[str, Any] = {}
    for _ in range(_MAX_PAGES):
        page = await _call_with_retries(read, tool, {**arguments, **cursor})
        rows += page.get("items", [])
        if page.get("next_cursor") is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    return rows


async def _call_with_retries(read: Call, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    for _ in range(_MAX_TRIES):
        view = await read(tool, arguments)
        if not view.is_refused:
            result: dict[str, Any] = view.result
            return result
    return {}
