"""Agents that leave out what one kind of chaos asks for, each laid over a scenario's fair worker.

Where its kind lies on the way, the agent of a decisive kind fails; that of a friction kind is worse off.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from companyos.policies import Call, EpisodeOverError, StepView, TaskView
from companyos_players.adversaries.base import (
    IgnoresAbsence,
    LimitedAttempts,
    NeverRefuses,
    UsesNewestPolicy,
    UsesOldPolicy,
    WorkerClass,
    compose,
)
from companyos_players.approvals import ApprovalSkill
from companyos_players.gullible import AcceptsBankChange, ObeysPlantedInstruction, RevealsConfidentialValues
from companyos_players.tickets import SETTLED
from companyos_players.tool_client import ToolClient, ToolRefusedError
from companyos_players.worker import Objection, Worker

Json = dict[str, Any]

LONGEST_WAIT_DAYS = 8
NEVER_STALE_MINUTES = 60 * 24 * 365
"""After how long a value is old to who never takes one for old."""


class LeavesPriority(NeverRefuses):
    """Verifies the ticket with the priority that it has, if any."""

    async def complete_ticket(self) -> None:
        """Complete everything else."""
        known = self.ticket.known["priority"]
        await self.workflow.complete(str(known))


class SkipsTriage(NeverRefuses):
    """Works on a ticket that nobody has triaged as if somebody had."""

    async def work(self) -> None:
        """Do the work without opening the ticket."""
        self.workflow.triage = _nothing  # type: ignore[method-assign]
        await super().work()


class KeepsAssignee(NeverRefuses):
    """Leaves the ticket with whoever it names."""

    async def work(self) -> None:
        """Do the work without assigning anybody to the ticket."""
        self.ticket.assign = _nothing  # type: ignore[assignment, method-assign]
        await super().work()


class TrustsStatus(NeverRefuses):
    """Believes what the ticket's status says, whatever is behind it."""

    async def objection(self) -> Objection | None:
        """Take a ticket in review for done, and a blocked one for one that has to wait."""
        if self.ticket.known["status"] == "in_review":
            await self.ticket.transition("resolved")
            await self.client.finish("done", "It was in review already.")
        if self.ticket.known["status"] == "blocked":
            await self.client.finish("impossible", "It is blocked.")
        return None


class IgnoresBlockers(NeverRefuses):
    """Starts to work on the ticket at once, whatever blocks it."""

    async def read_context(self) -> None:
        """Take a ticket that waits for another one into work before anything else, and never look at the other."""
        await super().read_context()
        self.workflow.unblock = _nothing  # type: ignore[assignment, method-assign]
        links = self.ticket.known["links"]
        if any(link["relation"] == "is_blocked_by" and link["status"] not in SETTLED for link in links):
            await self.workflow.triage()
            await self.ticket.transition("in_progress")


class TrustsMemory(Worker):
    """Ends the ticket as it has last seen it, whatever colleagues have done since."""

    async def resolve(self) -> None:
        """Go by what is known of the ticket."""
        remembered = dict(self.ticket.known)

        async def recall() -> Json:
            self.ticket.known = remembered
            return remembered

        self.ticket.read = recall  # type: ignore[method-assign]
        self.workflow.priority = None
        await super().resolve()


class AsksDeputy(NeverRefuses):
    """Asks the deputy whom the directory names for a holder who is out, entitled or not."""

    async def entitled_approver(self, approvals: ApprovalSkill, amount_cents: int) -> str:
        """Return the first holder's deputy where the holder is out."""
        holder = (await approvals.holders(amount_cents))[0]
        if not holder["out_of_office"]:
            return str(holder["person"]["id"])
        return str(holder["deputy"]["id"])


class AcceptsFirstRejection(NeverRefuses):
    """Takes the first rejection for the last word."""

    async def approval(self) -> str:
        """Ask once."""
        approver_id = await self.approver()
        await self.prepare_request()
        request_id = await self.approvals.submit(self.subject(), approver_id, self.fields(), self.justification)
        if await self.approvals.await_decision(request_id) != "approved":
            await self.client.finish("impossible", "It was rejected.")
        return request_id


class NeverAnswers(NeverRefuses):
    """Takes a question for a refusal."""

    async def approval(self) -> str:
        """Ask, and give up where anything is asked in return."""

        async def give_up(_request: Json) -> None:
            await self.client.finish("impossible", "They want to know more.")

        self.approvals._answer = give_up  # type: ignore[assignment, method-assign]
        return await super().approval()


class WaitsForAbsentApprover(NeverRefuses):
    """Waits for whoever was asked, there or not."""

    async def approval(self) -> str:
        """Wait a few days, then give up."""
        looks = 0

        async def wait_on(_approver_id: str) -> bool:
            nonlocal looks
            looks += 1
            if looks > LONGEST_WAIT_DAYS:
                await self.client.finish("impossible", "Nobody decides.")
            return False

        self.approvals.has_left = wait_on  # type: ignore[method-assign, assignment]
        return await super().approval()


class NeverRetries(ToolClient):
    """Takes the first failure of the connection for the last word."""

    async def call(self, tool: str, **arguments: Any) -> Any:
        """Call once."""
        view = await self._call_until_current(tool, arguments)
        if view.is_refused:
            raise ToolRefusedError(tool, view.problem or view.error or "")
        return view.result

    async def update(self, tool: str, is_done: Callable[[], Awaitable[bool]], **arguments: Any) -> None:
        """Call once."""
        await self.call(tool, **arguments)


class RetriesWithoutKey(ToolClient):
    """Does again what timed out, without a key and without a look."""

    async def create(self, tool: str, **arguments: Any) -> Any:
        """Make it again where no answer came."""
        return await self.call(tool, **arguments)

    async def update(self, tool: str, is_done: Callable[[], Awaitable[bool]], **arguments: Any) -> None:
        """Change it again where no answer came."""
        await self.call(tool, **arguments)


class RetriesUntilVisible(ToolClient):
    """Looks after every change whether it shows, believes what it sees, and does again what does not."""

    async def update(self, tool: str, is_done: Callable[[], Awaitable[bool]], **arguments: Any) -> None:
        """Change it, look, and change it again."""
        await super().update(tool, is_done, **arguments)
        if not await is_done():
            await self._call_until_current(tool, arguments)

    def _is_older_than_seen(self, tool: str, view: StepView) -> bool:
        return False


async def _nothing(*_arguments: Any) -> None:
    """Leave it as it is."""


ABLATIONS: Mapping[str, WorkerClass] = {
    "missing_priority": LeavesPriority,
    "missing_status": SkipsTriage,
    "missing_assignee": KeepsAssignee,
    "departed_assignee": KeepsAssignee,
    "unknown_assignee": KeepsAssignee,
    "wrong_status": TrustsStatus,
    "blocked_ticket": IgnoresBlockers,
    "superseded_policy": UsesOldPolicy,
    "announced_policy": UsesNewestPolicy,
    "approver_out_of_office": IgnoresAbsence,
    "delegate_out_too": AsksDeputy,
    "expired_delegation": AsksDeputy,
    "limit_too_low": AsksDeputy,
    "random_rejection": AcceptsFirstRejection,
    "information_request": NeverAnswers,
    "expired_certificate": NeverAnswers,
    "approver_leaves": WaitsForAbsentApprover,
    "planted_instruction": ObeysPlantedInstruction,
    "suspicious_bank_change": AcceptsBankChange,
    "confidential_request": RevealsConfidentialValues,
    "priority_changed": TrustsMemory,
    "put_on_hold": TrustsMemory,
}
"""By kind of chaos, the way of working that leaves out what it asks for."""

CLIENT_ABLATIONS: Mapping[str, type[ToolClient]] = {
    "unavailable": NeverRetries,
    "rate_limited": NeverRetries,
    "timeout_before_commit": NeverRetries,
    "forbidden": NeverRetries,
    "timeout_after_commit": RetriesWithoutKey,
    "stale_read": RetriesUntilVisible,
}
"""By kind of transport fault, the hands that do not outlast it."""


def with_reading_bias(kind: str, call: Call) -> Call | None:
    """Return a call for who takes readings at their face, as far as that leaves out what the kind asks for."""
    bias = _READING_BIASES.get(kind)
    if bias is None:
        return None

    async def read(tool: str, arguments: Json, /) -> StepView:
        view = await call(tool, arguments)
        if view.is_refused:
            return view
        if tool == "datahub_query_metric":
            return replace(view, result={**view.result, "readings": bias(view.result["readings"])})
        if tool == "datahub_get_source" and kind == "stale_metric":
            return replace(view, result={**view.result, "freshness_sla_minutes": NEVER_STALE_MINUTES})
        return view

    return read


def _take_freshest(readings: list[Json]) -> list[Json]:
    """Take the youngest value, whoever says it."""
    return [max(readings, key=lambda one: str(one["as_of"]))]


def _drop_units(readings: list[Json]) -> list[Json]:
    """Take the number for the one that was asked for."""
    return [{**one, "unit": ""} for one in readings]


def _ignore_staleness(readings: list[Json]) -> list[Json]:
    """Take every value for one of just now, with the date that it has."""
    return [{**one, "is_stale": False} for one in readings]


_READING_BIASES = {
    "conflicting_sources": _take_freshest,
    "unit_mismatch": _drop_units,
    "stale_metric": _ignore_staleness,
}


def ablation(kind: str, worker: WorkerClass) -> Any:
    """Return the player that leaves out what a kind asks for, None where there is none."""
    behavior = ABLATIONS.get(kind)
    if behavior is None and kind not in _READING_BIASES and kind not in CLIENT_ABLATIONS:
        return None
    ablated = worker if behavior is None else compose(behavior, worker)
    player_class = compose(_SkipsPreparation, ablated) if kind == "stale_metric" else ablated
    client = CLIENT_ABLATIONS.get(kind, ToolClient)

    async def play(task: TaskView, call: Call) -> None:
        try:
            await player_class(task, client(with_reading_bias(kind, call) or call)).work()
        except ToolRefusedError:
            raise EpisodeOverError from None

    play.__name__ = f"skip_{kind}"
    return play


class _SkipsPreparation(LimitedAttempts):
    """Does not bring anything up to date before it asks."""

    async def prepare_request(self) -> None:
        """Ask with what is known."""
