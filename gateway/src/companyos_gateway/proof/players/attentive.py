"""Who takes everything on the board for its own business: what looks alike, what is new, what others write."""

from __future__ import annotations

from typing import Any

from companyos.policies import Call, StepView, TaskView
from companyos.policies.arguments import ids_in
from companyos_gateway.chaos import Kind
from companyos_gateway.proof.playing import Player
from companyos_gateway.scenarios.skills.reading import reading

DISTRACTIONS = frozenset({Kind.DUPLICATE_TICKET, Kind.DISTRACTOR_TICKETS, Kind.NEW_TICKETS, Kind.COLLEAGUE_COMMENTS})
"""Kinds that cost whoever lets itself be distracted, and nobody else."""

_AGAIN_AFTER = 20
_MOST_ROUNDS = 2
_MOST_TRIES = 4
_MOST_PAGES = 6


def distracted(fair: Player) -> Player:
    """Return the fair oracle as one that keeps looking at the whole board, and opens whatever it finds there."""

    async def play(task: TaskView, call: Call) -> None:
        read = reading(task, call)
        key, known = ids_in(task.brief)[0], set[str]()
        taken = 0

        async def look_up(tool: str, arguments: dict[str, Any], /) -> StepView:
            nonlocal taken
            if taken % _AGAIN_AFTER == 0 and taken < _AGAIN_AFTER * _MOST_ROUNDS:
                await _look_around(read, key, known)
            taken += 1
            return await call(tool, arguments)

        await fair(task, look_up)

    return play


async def _look_around(read: Call, key: str, known: set[str]) -> None:
    """Open every ticket of the team that was not opened before, and read what is written on the own one."""
    own = await _answer(read, "ticketdesk_get_ticket", {"key": key})
    team = {"team_id": own["team_id"]} if "team_id" in own else {}
    for row in await _rows(read, "ticketdesk_list_tickets", team):
        if row["key"] not in known:
            known.add(row["key"])
            await _answer(read, "ticketdesk_get_ticket", {"key": row["key"]})
    for comment in await _rows(read, "ticketdesk_list_comments", {"key": key}):
        if comment["id"] not in known:
            known.add(comment["id"])
            await _answer(read, "datahub_get_person", {"person_id": comment["author_id"]})


async def _rows(read: Call, tool: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    cursor: dict[str, Any] = {}
    for _ in range(_MOST_PAGES):
        page = await _answer(read, tool, {**arguments, **cursor})
        rows += page.get("items", [])
        if page.get("next_cursor") is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    return rows


async def _answer(read: Call, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    for _ in range(_MOST_TRIES):
        view = await read(tool, arguments)
        if not view.is_refused:
            found: dict[str, Any] = view.result
            return found
    return {}
