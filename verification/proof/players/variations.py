"""Other correct solutions: independent writes in another order, and more reads."""

from __future__ import annotations

from typing import Any

from companyos.policies import Call, StepView, TaskView
from companyos_players.player import Step, replay_of
from companyos_shared.streams import Stream
from verification.proof.episode_runner import Player, RecordedEpisode
from verification.proof.players.oracles import fair_oracle, steps_of

INDEPENDENT = frozenset({"ticketdesk_update_ticket", "ticketdesk_assign_ticket", "ticketdesk_complete_checklist_item"})
"""Writes on the entry ticket in any order."""

_READ_EVERY = 5
_READS: tuple[Step, ...] = (
    ("ticketdesk_list_tickets", {}),
    ("datahub_list_sources", {}),
    ("approvalflow_list_approval_types", {}),
    ("datahub_get_calendar", {}),
)
_MAX_READS = 6


def variation_players(trace: RecordedEpisode, scenario: str, count: int) -> dict[str, Player]:
    """Return players of correct solutions: permutations of the oracle's trace, and the fair oracle with more reads."""
    steps = steps_of(trace.step_records)
    players: dict[str, Player] = {}
    for number in range(count):
        permuted = permuted_steps(steps, Stream("proof", "permute", scenario, trace.result.seed, number))
        if permuted != steps:
            players[f"independent writes in another order ({number})"] = replay_of(permuted)
    players["more reads"] = reading_more(fair_oracle(scenario))
    players["repeats with the same key"] = repeating(fair_oracle(scenario))
    return players


def permuted_steps(steps: list[Step], stream: Stream) -> list[Step]:
    """Return the steps with each run of independent writes permuted."""
    permuted: list[Step] = []
    run: list[Step] = []
    for step in [*steps, ("", {})]:
        if step[0] in INDEPENDENT:
            run.append(step)
            continue
        permuted += stream.child("run", len(permuted)).sample(run, len(run))
        run = []
        permuted.append(step)
    return permuted[:-1]


def reading_more(fair: Player) -> Player:
    """Return the fair oracle with additional reads."""

    async def play(task: TaskView, call: Call) -> None:
        taken = read = 0

        async def look_too(tool: str, arguments: dict[str, Any], /) -> StepView:
            nonlocal taken, read
            taken += 1
            if taken % _READ_EVERY == 0 and read < _MAX_READS:
                await call(*_READS[read % len(_READS)])
                read += 1
            return await call(tool, arguments)

        await fair(task, look_too)

    return play


def repeating(fair: Player) -> Player:
    """Return the fair oracle sending every call with an idempotency key twice."""

    async def play(task: TaskView, call: Call) -> None:
        async def twice(tool: str, arguments: dict[str, Any], /) -> StepView:
            view = await call(tool, arguments)
            if "idempotency_key" in arguments and not view.done and not view.is_refused:
                return await call(tool, arguments)
            return view

        await fair(task, twice)

    return play
