"""Other correct solutions: independent writes in another order, more reads, and honest detours."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from companyos.policies import Call, StepView, TaskView
from companyos_players.field_names import restoring_field_names
from companyos_players.player import Player, Step, replay_of
from companyos_players.registry import fair_player
from companyos_shared.streams import Stream
from verification.proof.episode_runner import RecordedEpisode
from verification.proof.final_states.honest_mutations import ASSIGNEE_BY_POLICY
from verification.proof.players.oracles import steps_of

INDEPENDENT = frozenset({"ticketdesk_update_ticket", "ticketdesk_assign_ticket", "ticketdesk_complete_checklist_item"})
"""Writes on the entry ticket that may be in any order."""

_READ_EVERY = 5
_READS: tuple[Step, ...] = (
    ("ticketdesk_list_tickets", {}),
    ("datahub_list_sources", {}),
    ("approvalflow_list_approval_types", {}),
    ("datahub_get_calendar", {}),
)
_MAX_READS = 6

SUBMIT, VERIFY, REFRESH = "approvalflow_submit_approval", "ticketdesk_verify_ticket", "datahub_refresh_metric"
_MAX_ASKED = 4
"""Maximum number of colleagues to try as assignee; TicketDesk refuses those who are away."""

Detour = Callable[[Call, dict[str, Any]], Awaitable[None]]
"""Calls that an agent adds before or after a call with these arguments."""


def variation_players(trace: RecordedEpisode, scenario: str, count: int) -> dict[str, Player]:
    """Return players of correct solutions: permuted oracle traces, and the fair oracle with detours or more reads."""
    steps = steps_of(trace.step_records)
    players: dict[str, Player] = {}
    for number in range(count):
        permuted = permuted_steps(steps, Stream("proof", "permute", scenario, trace.result.seed, number))
        if permuted != steps:
            players[f"independent writes in another order ({number})"] = replay_of(permuted)
    taken = {tool for tool, _ in steps}
    for name, (tool, detour) in _DETOURS.items():
        if tool in taken and not (name == "another assignee" and scenario in ASSIGNEE_BY_POLICY):
            players[name] = detouring(fair_player(scenario), tool, **detour)
    players["more reads"] = reading_more(fair_player(scenario))
    players["repeats with the same key"] = repeating(fair_player(scenario))
    return players


def detouring(fair: Player, tool: str, *, before: Detour | None = None, after: Detour | None = None) -> Player:
    """Return the fair oracle with a detour before or after its first call of a tool."""

    async def play(task: TaskView, call: Call) -> None:
        is_taken = False

        async def detour_once(name: str, arguments: dict[str, Any], /) -> StepView:
            nonlocal is_taken
            if name != tool or is_taken:
                return await call(name, arguments)
            is_taken = True
            plain = {name: value for name, value in arguments.items() if name != "idempotency_key"}
            if before is not None:
                await before(call, plain)
            view = await call(name, arguments)
            if after is not None:
                await after(call, plain)
            return view

        await fair(task, detour_once)

    return restoring_field_names(play)


async def _take_back(call: Call, arguments: dict[str, Any]) -> None:
    """Submit the request with a wrong value and withdraw it."""
    fields = arguments["fields"]
    name = next((name for name, value in fields.items() if isinstance(value, int | float)), next(iter(fields)))
    value = fields[name]
    wrong = {**fields, name: f"{value}1" if isinstance(value, str) else value + 1}
    view = await call(SUBMIT, {**arguments, "fields": wrong})
    if not view.is_refused:
        await call("approvalflow_withdraw_approval", {"request_id": view.result["id"]})


async def _reassign(call: Call, arguments: dict[str, Any]) -> None:
    """Assign the ticket to a colleague of the team who is not the assignee."""
    ticket = (await call("ticketdesk_get_ticket", {"key": arguments["key"]})).result
    found = (await call("datahub_search_people", {"team_id": ticket["team_id"]})).result["items"]
    others = [person["id"] for person in found if person["id"] != ticket["assignee_id"]]
    for person_id in others[:_MAX_ASKED]:
        if not (await call("ticketdesk_assign_ticket", {"key": ticket["key"], "assignee_id": person_id})).is_refused:
            return


async def _verify_again(call: Call, arguments: dict[str, Any]) -> None:
    """Verify the ticket again, which TicketDesk refuses, and comment on it."""
    await call(VERIFY, {"key": arguments["key"]})
    await call("ticketdesk_add_comment", {"key": arguments["key"], "body": "Everything is checked."})


async def _report_stale(call: Call, arguments: dict[str, Any]) -> None:
    """Report that the metric to refresh is outdated."""
    issue = {"kind": "stale", "description": "The value is older than the source promises."}
    await call("datahub_report_data_issue", {"subject": arguments["metric_id"], **issue})


_DETOURS: dict[str, tuple[str, dict[str, Detour]]] = {
    "a wrong request taken back": (SUBMIT, {"before": _take_back}),
    "another assignee": (VERIFY, {"before": _reassign}),
    "verified twice": (VERIFY, {"after": _verify_again}),
    "a true data issue": (REFRESH, {"before": _report_stale}),
}


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
    """Return the fair oracle, which repeats every successful call that has an idempotency key."""

    async def play(task: TaskView, call: Call) -> None:
        async def twice(tool: str, arguments: dict[str, Any], /) -> StepView:
            view = await call(tool, arguments)
            if "idempotency_key" in arguments and not view.done and not view.is_refused:
                return await call(tool, arguments)
            return view

        await fair(task, twice)

    return play
