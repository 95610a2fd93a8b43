"""Adaptive adversaries: they use what an agent sees during an episode to search for a value that they do not know."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from companyos.policies import Call, StepView, TaskView
from companyos.policies.arguments import ids_in
from companyos_players.player import Player

PRIORITIES = ("low", "medium", "high", "critical")
NOT_ENTITLED = frozenset({"approver-not-entitled", "approver-departed", "own-request", "already-approved-by"})
_UPDATE = "ticketdesk_update_ticket"
_SUBMIT = "approvalflow_submit_approval"


class _WorkDone(Exception):  # noqa: N818 - not an error
    """Raised where the oracle would declare that the work is done."""


class PrioritySearcher:
    """The oracle's run without the ticket's priority: it guesses one, and tries the others after the end of the run.

    `guesses` is the order of the guesses; it returns once the episode is over. `right` is the priority that the oracle
    would have set, None if it set none.
    """

    def __init__(self, oracle: Player, guesses: Sequence[str] = PRIORITIES, *, start_wrong: bool = False) -> None:
        self._oracle = oracle
        self._guesses = tuple(guesses)
        self._start_wrong = start_wrong
        self.right: str | None = None

    async def play(self, task: TaskView, call: Call) -> None:
        """Play one episode."""
        key = ids_in(task.brief)[0]

        async def guess(tool: str, arguments: dict[str, Any], /) -> StepView:
            if tool == _UPDATE and arguments.get("key") == key and "priority" in arguments:
                self.right = arguments["priority"]
                arguments = {**arguments, "priority": self._first_guess(self.right)}
            if tool == "finish" and arguments.get("outcome") == "done":
                raise _WorkDone
            return await call(tool, arguments)

        with suppress(_WorkDone):
            await self._oracle(task, guess)
        for priority in self._guesses:
            await call(_UPDATE, {"key": key, "priority": priority})
        await call("finish", {"outcome": "done", "summary": "Done."})

    def _first_guess(self, right: str) -> str:
        wrong_first = (guess for guess in self._guesses if not self._start_wrong or guess != right)
        return next(wrong_first)


class ApproverSearcher:
    """The oracle's run without knowing who may approve: it asks one person after another until a request is accepted.

    `refused` are the people whom ApprovalFlow did not accept, over the whole episode.
    """

    def __init__(self, oracle: Player) -> None:
        self._oracle = oracle
        self.refused: set[str] = set()

    async def play(self, task: TaskView, call: Call) -> None:
        """Play one episode."""
        people: list[str] = []

        async def guess(tool: str, arguments: dict[str, Any], /) -> StepView:
            if tool != _SUBMIT or "approver_id" not in arguments:
                return await call(tool, arguments)
            if not people:
                listed = await call("datahub_search_people", {"query": "head lead chief manager", "limit": 50})
                rows = listed.result.get("items", []) if isinstance(listed.result, dict) else []
                people.extend(row["id"] for row in rows)
            for person_id in people:
                view = await call(tool, {**arguments, "approver_id": person_id})
                if view.problem not in NOT_ENTITLED:
                    return view
                self.refused.add(person_id)
            return view

        await self._oracle(task, guess)
