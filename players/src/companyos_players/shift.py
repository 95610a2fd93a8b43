"""Player of shifts: works one case while others wait, and uses a player of its scenario for each."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

from companyos.contract import SHIFT_PREFIX, split_company_size
from companyos.policies import Call, EpisodeOverError, StepView, TaskView
from companyos_players.player import Player
from companyos_players.records import RecordSkill
from companyos_players.tickets import TicketSkill
from companyos_players.tool_client import MAX_WAIT_MINUTES, ToolClient

QUEUE_TAG, DESK_TOPIC = "operations-desk", "operations"

SCENARIOS_BY_TAGS: Mapping[frozenset[str], str] = MappingProxyType(
    {
        frozenset({"access"}): "access_request",
        frozenset({"audit"}): "audit_remediation",
        frozenset({"budget", "transfer"}): "budget_transfer",
        frozenset({"bug", "production"}): "bug_escalation",
        frozenset({"contract", "renewal"}): "contract_renewal",
        frozenset({"refunds"}): "customer_refund",
        frozenset({"data quality"}): "data_discrepancy",
        frozenset({"offboarding"}): "employee_offboarding",
        frozenset({"expenses"}): "expense_report",
        frozenset({"handbook"}): "handbook_update",
        frozenset({"hiring", "offer"}): "hiring_approval",
        frozenset({"incident", "production"}): "incident_response",
        frozenset({"license", "renewal"}): "license_renewal",
        frozenset({"invoices"}): "purchase_order",
        frozenset({"close"}): "quarter_close",
        frozenset({"projects", "funding"}): "project_selection",
        frozenset({"security", "exception"}): "security_exception",
        frozenset({"vendors", "bank"}): "vendor_bank_change",
        frozenset({"vendor", "onboarding"}): "vendor_onboarding",
    }
)
"""The scenario of a ticket by its tags."""


ASSIGN = "ticketdesk_assign_ticket"

UNCHANGING = ("approvalflow_list_approval_types", "datahub_get_calendar")
"""Tools whose results do not change during a shift."""


def player_for(scenario: str, find_player: Callable[[str], Player]) -> Player:
    """Return the player of a scenario, or of a shift with the players of its cases, in a company of any size."""
    name, _ = split_company_size(scenario)
    if not name.startswith(SHIFT_PREFIX):
        return find_player(name)

    async def play_shift(task: TaskView, call: Call) -> None:
        await ShiftPlayer(task, call, find_player).work()

    return play_shift


_MOMENT = r"\w+, (\d+ \w+ \d{4}, \d\d:\d\d)"

FROZEN = frozenset({"resolved", "closed"})
"""Statuses that no ticket of the queue may get during the freeze."""

ENDED = FROZEN | {"cancelled"}

COMES_FIRST = re.compile(r"completed or cancelled")
IS_REPORTED = re.compile(r"ID of the approval that is linked to")
"""Requests in comments that name another ticket: it has to end first, or the ID of its approval has to be reported."""

TAKES_TICKETS = re.compile(r"our team's tickets.*\((E-\d+)\)|\((E-\d+)\).*our team's tickets")
"""Statement of the person who takes the team's tickets."""

KNOWS_WHO = re.compile(r"\(@(E-\d+)\)")
"""Mention of the person who knows who takes the team's tickets."""

SAME_ASSIGNEE = re.compile(r"person who is assigned to ([A-Z]+-\d+)")
TAKES_OVER = re.compile(r"\((E-\d+)\) is taking over this ticket")
"""Statements of a ticket's assignee: the assignee of another ticket, or a new person."""

ONLY_IF = re.compile(r"only need (?:this|it) if ([A-Z]+-\d+) goes ahead")
"""Statement that a ticket is only needed if another one is completed."""

WITHDRAWN = re.compile(r"cancel ([A-Z]+-\d+) as withdrawn, with ([A-Z]+-\d+)")
"""Withdrawal of another ticket."""

UPDATE = "ticketdesk_update_ticket"
ANSWER_WAIT_MINUTES = 240

TICKET_KEY = re.compile(r"\b[A-Z]+-\d+\b")


def _moments(text: str, pattern: str) -> list[datetime]:
    """Return the times that a brief or a policy states, or an empty list."""
    found = re.search(pattern.format(moment=_MOMENT), text)
    moments = found.groups() if found else ()
    return [datetime.strptime(one, "%d %B %Y, %H:%M").replace(tzinfo=UTC) for one in moments]


def sort_of(ticket: Mapping[str, Any]) -> frozenset[str]:
    """Return the tags of a ticket without that of the queue. They identify the sort of work."""
    return frozenset(ticket["tags"]) - {QUEUE_TAG}


async def cancel(key: str, code: str, reference: str, _task: TaskView, call: Call) -> None:
    """Cancel a ticket for a reason."""
    ticket = TicketSkill(ToolClient(call), key)
    await ticket.read()
    await ticket.triage()
    await ticket.transition("cancelled", reason_code=code, reason_ref=reference)


class CaseDoneError(Exception):
    """Ends the player of a case when it declares the outcome of its case."""


class _Case:
    """A case and the player of its scenario, which runs until it waits or is done."""

    def __init__(self, key: str, player: Player) -> None:
        self.key = key
        self.player = player
        self.wakes_at: datetime | None = None
        self.waits_for: str | None = None
        """The ticket of another case that has to end first."""
        self.reported: set[str] = set()
        """Tickets whose approval has been reported."""
        self.may_act = asyncio.Event()
        self.has_paused = asyncio.Event()


class ShiftPlayer:
    """Plays a shift: reads the queue, works the cases in the order of their due dates, and finishes.

    It reads the queue again once no more tickets are handed over.
    """

    lacks: ClassVar[str] = ""
    """The feature of shifts that this player ignores."""

    def __init__(self, task: TaskView, call: Call, find_player: Callable[[str], Player]) -> None:
        self.task = task
        self.find_player = find_player
        self.now = task.now
        self.complete_at = max([self.now, *_moments(task.brief, "tickets until {moment}")])
        """Time at which the queue is complete."""
        self.frozen_until = self.now
        """Time before which no ticket of the queue may be completed, by the policy as it was read."""
        self.policy_read_at = self.now
        self._known: dict[str, dict[str, Any]] = {}
        """The known tickets of the queue by key."""
        self._done: set[str] = set()
        """The tickets of the completed cases."""
        self._taker_ids: dict[str, str] = {}
        """The person who takes the tickets of a team, by team id."""
        self._asked: dict[str, dict[str, Any]] = {}
        """By team id, the ticket under which a question about that person is open."""
        self._withdrawn: dict[str, str] = {}
        """The withdrawn tickets, each with the ticket that the withdrawal refers to."""
        self._call = call
        self._shown: dict[tuple[str, tuple[tuple[str, Any], ...]], StepView] = {}
        self._client = ToolClient(self.step)

    async def work(self) -> None:
        """Work the queue and finish. Raises an error of a case's player, unless the player only gives up the case."""
        try:
            await self.read_policy()
            async with asyncio.TaskGroup() as group:
                await self._work_queue(group)
        except ExceptionGroup as raised:
            raise raised.exceptions[0] from None
        await self._client.finish("done", "The queue is empty.")

    async def _work_queue(self, group: asyncio.TaskGroup) -> None:
        open_cases: dict[asyncio.Task[None], _Case] = {}
        is_complete, must_read = False, True
        while open_cases or not is_complete:
            if must_read:
                is_complete = self.now >= self.complete_at
                for case in self._new_cases(await self._new_tickets()):
                    open_cases[group.create_task(self._play(case))] = case
            await self._act_once(list(open_cases.values()), None if is_complete else self.complete_at)
            self._done |= {case.key for task, case in open_cases.items() if task.done()}
            open_cases = {task: case for task, case in open_cases.items() if not task.done()}
            must_read = not is_complete and self.now >= self.complete_at

    async def read_policy(self) -> None:
        """Read in the policy of the operations desk when the freeze ends."""
        rows = await self._client.list_all("datahub_search_policies", topic=DESK_TOPIC)
        policy = await self._client.call("datahub_get_policy", policy_id=rows[0]["policy_id"])
        self.frozen_until = max([self.now, *_moments(policy["body"], "closed before {moment}")])
        self.policy_read_at = self.now

    async def _new_tickets(self) -> list[dict[str, Any]]:
        """Read the assignees of the teams, and return the new tickets sorted by due date."""
        rows, known = await self._client.list_all("ticketdesk_list_tickets", tag=QUEUE_TAG), self._known
        new = [row["key"] for row in rows if row["key"] not in known]
        known |= {key: await self._client.call("ticketdesk_get_ticket", key=key) for key in new}
        for ticket in known.values():
            if sort_of(ticket) not in SCENARIOS_BY_TAGS:
                await self._read_kept(ticket)
            elif self.now >= self.complete_at:
                self._withdrawn |= self.withdrawals(await self.comments(ticket["key"]))
        return sorted((known[key] for key in new), key=lambda ticket: str(ticket["due_at"]))

    async def _read_kept(self, ticket: dict[str, Any]) -> None:
        """Read who takes a team's tickets from comments under a ticket of the team, or ask the person who knows."""
        key, team_id = ticket["key"], ticket["team_id"]
        texts = [row["body"] for row in await self.comments(key)]
        for found in filter(None, map(TAKES_TICKETS.search, texts)):
            self._taker_ids[team_id] = found[1] or found[2]
            self._asked.pop(team_id, None)
        for found in filter(None, map(KNOWS_WHO.search, texts)):
            if team_id not in self._taker_ids and team_id not in self._asked:
                body = f"@{found[1]}, who takes the tickets of your team that need an assignee?"
                await self._client.create("ticketdesk_add_comment", key=key, body=body)
                self._asked[team_id] = ticket

    async def comments(self, key: str) -> list[dict[str, Any]]:
        """Return the comments under a ticket."""
        return await self._client.list_all("ticketdesk_list_comments", key=key)

    def withdrawals(self, comments: list[dict[str, Any]]) -> dict[str, str]:
        """Return the tickets that their reporters withdraw in comments, each with the ticket that the comment cites."""
        found = [(one["author_id"], WITHDRAWN.search(one["body"])) for one in comments]
        return {
            match[1]: match[2]
            for author_id, match in found
            if match is not None and self._known.get(match[1], {}).get("reporter_id") == author_id
        }

    def _new_cases(self, tickets: list[dict[str, Any]]) -> list[_Case]:
        found = {ticket["key"]: self.player_of(ticket, list(self._known.values())) for ticket in tickets}
        return [_Case(key, player) for key, player in found.items() if player is not None]

    def player_of(self, ticket: dict[str, Any], known: list[dict[str, Any]]) -> Player | None:
        """Return the player of a ticket, given all tickets of the queue, or None if another team handles the ticket."""
        scenario = SCENARIOS_BY_TAGS.get(sort_of(ticket))
        if scenario is None:
            return None
        alike = [one for one in known if sort_of(one) == sort_of(ticket)]
        oldest = min(alike, key=lambda one: str(one["created_at"]))["key"]
        key = ticket["key"]
        if key in self._withdrawn:
            return partial(cancel, key, "withdrawn", self._withdrawn[key])
        return self.find_player(scenario) if oldest == key else partial(cancel, key, "duplicate", oldest)

    async def _act_once(self, cases: list[_Case], complete_at: datetime | None) -> None:
        """Let a case act until it pauses, or wait until the first case wakes up or the queue is complete."""
        free = [case for case in cases if case.waits_for is None or case.waits_for in self._done]
        if not free and complete_at is None:
            free = cases
        ready = [case for case in free if case.wakes_at is None or case.wakes_at <= self.now]
        if not ready:
            moments = [*(case.wakes_at for case in free), complete_at]
            until = min((at for at in moments if at is not None), default=self.now)
            if until > self.now:
                await self.wait_until(until)
            return
        case = min(ready, key=lambda one: one.wakes_at or self.now)  # values read before a pause become stale
        case.has_paused.clear()
        case.may_act.set()
        await case.has_paused.wait()

    async def _play(self, case: _Case) -> None:
        await case.may_act.wait()
        case.may_act.clear()
        task = replace(self.task, brief=f"Please handle {case.key}.")
        try:
            await case.player(task, partial(self._call_for, case))
        except CaseDoneError:
            pass
        except EpisodeOverError:  # players also raise it to give up
            if self._last.done:
                raise
        finally:
            case.has_paused.set()

    async def _call_for(self, case: _Case, tool: str, arguments: dict[str, Any], /) -> StepView:
        """Make a call for the player of a case; it waits while another case acts."""
        if tool == "finish":
            raise CaseDoneError
        if tool == "wait":
            return await self.pause(case, arguments["minutes"])
        if tool in UNCHANGING:
            return await self._read_once(tool, arguments)
        while tool == ASSIGN and (ticket := self._asked.get(self._known[case.key]["team_id"])):
            await self.pause(case, ANSWER_WAIT_MINUTES)
            await self._read_kept(ticket)
        while self.must_wait(case.key, arguments):
            await self._await_end_of_freeze(case)
        if arguments.get("to") in ENDED and arguments["key"] == case.key:
            await self.follow_demands(case, arguments["to"])
        if arguments.get("to") in FROZEN and arguments["key"] == case.key:
            await self._restore_priority(case)
        if tool == UPDATE and arguments["key"] == case.key:
            self._known[case.key] |= {"priority": arguments.get("priority", self._known[case.key]["priority"])}
        return await self.step(tool, {**arguments, **self._adapted(case, tool, arguments)})

    def _adapted(self, case: _Case, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments to replace because of other cases: idempotency keys and assignees."""
        adapted = {}
        if "idempotency_key" in arguments:
            adapted["idempotency_key"] = f"{case.key}-{arguments['idempotency_key']}"
        if tool == ASSIGN and arguments["key"] == case.key:
            team_id = self._known[case.key]["team_id"]
            adapted["assignee_id"] = self._taker_ids.get(team_id, arguments["assignee_id"])
        return adapted

    async def follow_demands(self, case: _Case, to: str) -> None:
        """Fulfil the comments and the policy before a ticket ends: wait for another, report its approval, assign."""
        if to in FROZEN and SCENARIOS_BY_TAGS.get(sort_of(self._known[case.key])) == "purchase_order":
            await self._await(case, await self.find_bank_change(case.key))
        for text in [row["body"] for row in await self.comments(case.key)]:
            if to in FROZEN:
                await self._assign(case, text)
            is_reported = to in FROZEN and IS_REPORTED.search(text) is not None
            if not is_reported and not COMES_FIRST.search(text) and not ONLY_IF.search(text):
                continue
            other = TICKET_KEY.findall(text)[0]
            await self._await(case, other)
            ended = await self._client.call("ticketdesk_get_ticket", key=other)
            if ended["status"] == "cancelled" and ONLY_IF.search(text):
                await cancel(case.key, "withdrawn", other, self.task, self.step)
                raise CaseDoneError
            reference = ended["approval_ref"]
            if is_reported and reference is not None and other not in case.reported:
                case.reported.add(other)
                body = f"The approval for {other} is {reference}."
                await self._client.create("ticketdesk_add_comment", key=case.key, body=body)

    async def _await(self, case: _Case, key: str | None) -> None:
        """Let other cases act until that ticket has ended; return at once if the key is None."""
        case.waits_for = key
        if key is not None:
            await self.pause(case, 0)
        case.waits_for = None

    async def find_bank_change(self, key: str) -> str | None:
        """Return the open ticket about the bank details of the vendor of a ticket's invoice, or None."""
        hub, ticket = RecordSkill(self._client), await self._client.call("ticketdesk_get_ticket", key=key)
        if ticket["approval_ref"] is None:
            return None
        request = await self._client.call("approvalflow_get_approval", request_id=ticket["approval_ref"])
        vendor_id = (await hub.read(request["subject"]))["vendor_id"]
        rows = await hub.find(kind="document", vendor_id=vendor_id)
        letters = [one["id"] for one in rows if "bank_change_request" in (await hub.read(one["id"]))["fields"].values()]
        if not letters:
            return None
        vendor = await self._client.call("datahub_get_vendor", vendor_id=vendor_id)
        for row in await self._client.list_all("ticketdesk_list_tickets", tag="bank"):
            text = (await self._client.call("ticketdesk_get_ticket", key=row["key"]))["description"]
            if row["status"] not in ENDED and any(one in text for one in (*letters, vendor_id, vendor["name"])):
                return str(row["key"])
        return None

    async def _restore_priority(self, case: _Case) -> None:
        """Restore the priority of a case's ticket if a colleague has changed it."""
        priority = self._known[case.key]["priority"]
        if (await self._client.call("ticketdesk_get_ticket", key=case.key))["priority"] != priority:
            await self._client.call(UPDATE, key=case.key, priority=priority)

    async def _assign(self, case: _Case, text: str) -> None:
        """Assign the ticket of a case to the person that a comment names."""
        same, other = SAME_ASSIGNEE.search(text), TAKES_OVER.search(text)
        if same is not None:
            person_id = (await self._client.call("ticketdesk_get_ticket", key=same[1]))["assignee_id"]
            await self._client.call(ASSIGN, key=case.key, assignee_id=person_id)
        elif other is not None:
            await self._client.call(ASSIGN, key=case.key, assignee_id=other[1])

    def must_wait(self, key: str, arguments: Mapping[str, Any]) -> bool:
        """Return whether a call for a case has to wait until the freeze ends and the policy is read again."""
        is_frozen = self.now < self.frozen_until or self.policy_read_at < self.frozen_until
        return arguments.get("to") in FROZEN and arguments["key"] == key and is_frozen

    async def _await_end_of_freeze(self, case: _Case) -> None:
        """Let a case pause until the freeze ends, then read the policy again, which may have changed by then."""
        if self.now < self.frozen_until:
            await self.pause(case, -(-int((self.frozen_until - self.now).total_seconds()) // 60))
        else:
            await self.read_policy()

    async def pause(self, case: _Case, minutes: int) -> StepView:
        """Let other cases act until the case has waited that many minutes."""
        since = self.now
        case.wakes_at = since + timedelta(minutes=minutes)
        case.has_paused.set()
        await case.may_act.wait()
        case.may_act.clear()
        case.wakes_at = None
        waited = int((self.now - since).total_seconds()) // 60
        return replace(self._last, result={"waited_minutes": waited}, error=None, reward=0.0, message=None)

    async def _read_once(self, tool: str, arguments: dict[str, Any]) -> StepView:
        """Return the cached result of a tool whose results do not change during a shift."""
        call = tool, tuple(sorted(arguments.items()))
        if call not in self._shown:
            view = await self.step(tool, arguments)
            if view.is_refused:
                return view
            self._shown[call] = view
        return replace(self._last, result=self._shown[call].result, error=None, reward=0.0, message=None)

    async def wait_until(self, until: datetime) -> StepView:
        """Wait until a time, at most as long as one call allows."""
        minutes = -(-int((until - self.now).total_seconds()) // 60)
        return await self.step("wait", {"minutes": min(minutes, MAX_WAIT_MINUTES)})

    async def step(self, tool: str, arguments: dict[str, Any]) -> StepView:
        self._last = await self._call(tool, arguments)
        self.now = self._last.now
        return self._last
