"""Adaptive adversaries: they search for a value that they do not know with the observations of an episode."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from companyos.policies import Call, StepView, TaskView
from companyos.policies.arguments import ids_in
from companyos_players.player import Player
from companyos_players.tool_client import ToolRefusedError
from companyos_players.worker import PRIORITIES

REFUSED_APPROVERS = ("approver-", "delegation-", "own-request", "already-approved-by")
"""Prefixes of the error codes with which ApprovalFlow refuses a person as approver."""

_UPDATE = "ticketdesk_update_ticket"
_ASKS = frozenset({"approvalflow_submit_approval", "approvalflow_escalate_approval"})
_PEOPLE = {"query": "head lead chief manager", "limit": 50}
_LIST_ATTEMPTS = 5


class _WorkDone(Exception):  # noqa: N818 - not an error
    """Raised when the oracle would declare the work done."""


class PrioritySearcher:
    """Plays like the oracle without the priority of one ticket: tries each until one pays, and all again after the run.

    The ticket is the first one whose priority the oracle sets. `key` is its key (None if the oracle sets no priority)
    and `right` is that priority. The order of the guesses is random; with `start_wrong` the first ones are all wrong.
    """

    def __init__(self, oracle: Player, *, start_wrong: bool = False) -> None:
        self._oracle = oracle
        self._start_wrong = start_wrong
        self.key: str | None = None
        self.right: str | None = None

    async def play(self, task: TaskView, call: Call) -> None:
        """Play one episode."""
        self._forget()
        guesses = task.stream.child("priorities").shuffled(PRIORITIES)

        async def guess(tool: str, arguments: dict[str, Any], /) -> StepView:
            if tool == _UPDATE and arguments.get("priority") in PRIORITIES and self.key in (None, arguments["key"]):
                self.key, self.right = arguments["key"], arguments["priority"]
                for priority in self._first_guesses(guesses):
                    view = await call(tool, {**arguments, "priority": priority})
                    if view.reward > 0:
                        break
                return view
            if tool == "finish" and arguments.get("outcome") != "refused":
                raise _WorkDone
            return await call(tool, arguments)

        with suppress(_WorkDone, ToolRefusedError):
            await self._oracle(task, guess)
        for priority in guesses:
            await call(_UPDATE, {"key": self.key or ids_in(task.brief)[0], "priority": priority})
        await call("finish", {"outcome": "done", "summary": "Done."})

    def _forget(self) -> None:
        self.key = self.right = None

    def _first_guesses(self, guesses: list[str]) -> Iterator[str]:
        return (guess for guess in guesses if not self._start_wrong or guess != self.right)


@dataclass(frozen=True)
class Ask:
    """A call that names an approver, and its time."""

    tool: str
    arguments: dict[str, Any]
    at: datetime


class ApproverSearcher:
    """Plays like the oracle without knowing who may approve: asks people at random until a request is accepted.

    `people` are the candidates in the order of the attempts, and `first` is the first call that named an approver.
    `accepted` and `refused` are the people whom ApprovalFlow accepted and refused as approvers during the whole
    episode. Accepted people come last for further requests, because a second approval needs another person.
    """

    def __init__(self, oracle: Player) -> None:
        self._oracle = oracle
        self.people: list[str] = []
        self.first: Ask | None = None
        self.accepted: list[str] = []
        self.refused: dict[str, str] = {}

    async def play(self, task: TaskView, call: Call) -> None:
        """Play one episode."""
        self.people, self.first, self.accepted, self.refused = [], None, [], {}

        async def guess(tool: str, arguments: dict[str, Any], /) -> StepView:
            if tool not in _ASKS or "approver_id" not in arguments:
                return await call(tool, arguments)
            if self.first is None:
                self.people, now = await _list_people(call)
                self.people = task.stream.child("approvers").shuffled(self.people)
                self.first = Ask(tool, arguments, now)
            for person_id in sorted(self.people, key=self.accepted.count):
                view = await call(tool, {**arguments, "approver_id": person_id})
                if view.problem is None or not view.problem.startswith(REFUSED_APPROVERS):
                    self.accepted += [] if view.is_refused else [person_id]
                    return view
                self.refused[person_id] = view.problem
            return view

        await self._oracle(task, guess)


async def _list_people(call: Call) -> tuple[list[str], datetime]:
    """Return the ids of people whose title suggests authority, and the current time."""
    for _ in range(_LIST_ATTEMPTS):
        view = await call("datahub_search_people", _PEOPLE)
        lists = [part for part in view.result.values() if isinstance(part, list)] if not view.is_refused else []
        if lists and lists[0]:
            return [_person_id(row) for row in lists[0]], view.now
    raise ToolRefusedError("datahub_search_people", view.problem or "no people")


def _person_id(row: dict[str, Any]) -> str:
    return next(value for value in row.values() if isinstance(value, str) and value.startswith("E-"))
