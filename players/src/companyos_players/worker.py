"""The fair worker: the workflow of every task around a ticket that ends approved or refused. Each step is a method."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from typing import ClassVar

from companyos.policies import Call, TaskView
from companyos_players.approvals import EVIDENCE_MARGIN, ApprovalSkill, RequestSkill, default_answer
from companyos_players.metrics import MetricReading, MetricSkill
from companyos_players.player import Json
from companyos_players.records import RecordSkill
from companyos_players.tickets import TicketWorkflow, ticket_key_in
from companyos_players.tool_client import ToolClient, ToolRefusedError

LONGEST_BREAK_DAYS = 20
NO_LONGER_ENTITLED = frozenset({"delegation-revoked", "approver-out-of-office"})
"""The error codes for an approver who was chosen before a delegation was revoked or an absence began."""

PRIORITIES = ("low", "medium", "high", "critical")


@dataclass(frozen=True)
class Objection:
    """The reason to refuse the work: a typed reason with the id of its evidence."""

    reason_code: str
    reason_ref: str
    summary: str


class Worker:
    """One task. Scenarios implement its steps; adversaries override them."""

    type_words = ""
    """Words of the approval type's title, in lower case."""

    justification = ""
    unblocked_status = "in_progress"
    """The ticket's status once nothing blocks it."""

    def __init__(self, task: TaskView, client: ToolClient) -> None:
        self.task = task
        self.client = client
        self.workflow = TicketWorkflow(client, ticket_key_in(task.brief), unblocked_status=self.unblocked_status)
        self.ticket = self.workflow.ticket
        self.hub, self.flow = RecordSkill(client), RequestSkill(client)
        self.people: dict[str, Json] = {}
        """Cached people by id."""

    @classmethod
    async def play(cls, task: TaskView, call: Call) -> None:
        """Play a task; this is the player of the worker."""
        await cls(task, ToolClient(call)).work()

    async def work(self) -> None:
        """Run the workflow from the first read to the declared outcome."""
        await self.read_context()
        await self.investigate()
        await self.ticket.triage()
        objection = await self.objection()
        if objection is not None:
            await self.refuse(objection)
        await self.unblock()
        await self.complete_ticket()
        await self.execute()
        await self.resolve()
        await self.client.finish("done", f"{self.ticket.key} is done.")

    async def read_context(self) -> None:
        """Read the ticket, the approval type and its policy in force."""
        await self.ticket.read()
        self.approvals = await self.find_approval_type(self.type_words)
        self.policy: Json = await self.client.call("datahub_get_policy", policy_id=self.approvals.type["policy_ref"])

    async def find_approval_type(self, words: str) -> ApprovalSkill:
        """Return the skill for the first approval type whose title contains the words, which are in lower case."""
        types = await self.client.list_all("approvalflow_list_approval_types")
        type_key = next(item["key"] for item in types if words in item["title"].lower())
        return self.approval_skill(await self.client.call("approvalflow_get_approval_type", type_key=type_key))

    def approval_skill(self, approval_type: Json) -> ApprovalSkill:
        """Return the skill for an approval type, with the task's answers to questions."""
        return ApprovalSkill(self.client, approval_type, own_id=self.task.acting_as, answer=self.answer)

    async def answer(self, question: str) -> str:
        """Return the answer to an approver's question."""
        return await default_answer(question)

    async def investigate(self) -> None:
        """Find the task's data."""

    async def find_cited(self, prefix: str, person_field: str, **filters: str) -> Json:
        """Return the record that the ticket cites by its id, or by its title and the person in a field."""
        text = self.ticket.known["description"]
        for record in await self.hub.find_cited(text, prefix, **filters):
            if record["id"] in text or await self.is_person_named(record["fields"][person_field], text):
                return record
        raise LookupError(f"No record is cited in {text!r}")

    async def is_person_named(self, person_id: str, text: str) -> bool:
        """Return whether a text names a person by id or name."""
        return person_id in text or (await self.look_up(person_id))["name"] in text

    async def look_up(self, person_id: str) -> Json:
        """Return a person (cached)."""
        if person_id not in self.people:
            self.people[person_id] = await self.client.call("datahub_get_person", person_id=person_id)
        return self.people[person_id]

    async def objection(self) -> Objection | None:
        """Return the reason to refuse the work, or None."""
        return None

    async def refuse(self, objection: Objection) -> None:
        """End the ticket as the policy requires, and declare the refusal."""
        reason = {"reason_code": objection.reason_code, "reason_ref": objection.reason_ref}
        await self.ticket.transition("cancelled", **reason)
        await self.client.finish("refused", objection.summary, **reason)

    def identifiers(self) -> Collection[str]:
        """Return the identifiers by which a text refers to this task."""
        raise NotImplementedError

    def priority(self) -> str:
        """Return the priority for the policy's thresholds, by default that of the amount."""
        return self.level(self.amount_cents())

    def subject(self) -> str:
        """Return the subject of the request, by default the ticket."""
        return self.ticket.key

    def fields(self) -> Json:
        """Return the fields of the approval request."""
        raise NotImplementedError

    def amount_cents(self) -> int:
        """Return the amount to approve."""
        return 0

    async def unblock(self) -> None:
        """Pass the ticket's blockers."""
        await self.workflow.unblock(self.identifiers())

    async def complete_ticket(self) -> None:
        """Set priority and assignee, complete the checklist, verify."""
        await self.workflow.complete(self.priority())

    async def execute(self) -> None:
        """Get the approval, link it and apply its consequences."""
        request_id = await self.approval()
        await self.ticket.link_approval(request_id)
        await self.follow_up(request_id)

    async def approval(self) -> str:
        """Get the approval and return its id."""
        request_id, _ = await self.get_approval(self.approvals, self.approver, self.fields, withdraws=True)
        return request_id

    async def get_approval(
        self,
        approvals: ApprovalSkill,
        choose_approver: Callable[[], Awaitable[str]],
        fields: Callable[[], Json],
        *,
        withdraws: bool = False,
    ) -> tuple[str, str]:
        """Get an approval and return its id and its approver; ask again after a rejection without a lasting reason.

        Raises ToolRefusedError if the request is refused and another approver would not help.
        """
        approver_id = await choose_approver()
        while True:
            await self.prepare_request()
            try:
                request_id = await approvals.submit(
                    self.subject(), approver_id, fields(), self.justification, ticket_ref=self.ticket.key
                )
            except ToolRefusedError as refused:
                chosen = await choose_approver() if refused.code in NO_LONGER_ENTITLED else approver_id
                if chosen == approver_id:
                    raise
                approver_id = chosen
                continue
            status = await approvals.await_decision(request_id, withdraws=withdraws)
            if status == "approved":
                return request_id, approver_id
            if status == "withdrawn":
                approver_id = await choose_approver()

    async def prepare_request(self) -> None:
        """Update the data that the request states."""

    async def approver(self) -> str:
        """Return today's approver."""
        return await self.entitled_approver(self.approvals, self.amount_cents())

    async def entitled_approver(self, approvals: ApprovalSkill, amount_cents: int) -> str:
        """Return today's approver for an amount of a type."""
        return await approvals.approver(amount_cents)

    async def follow_up(self, request_id: str) -> None:
        """Apply what the approval allows."""

    async def resolve(self) -> None:
        """Resolve the ticket."""
        await self.workflow.resolve()

    async def first_working_day(self, day: date) -> date:
        """Return a day, or the next working day if it is not one."""
        period = {"from": day.isoformat(), "to": (day + timedelta(days=LONGEST_BREAK_DAYS)).isoformat()}
        calendar = await self.client.call("datahub_get_calendar", **period)
        holidays = [holiday["day"] for holiday in calendar["holidays"]]
        while day.weekday() not in calendar["working_weekdays"] or day.isoformat() in holidays:
            day += timedelta(days=1)
        return day

    def level(self, amount: float) -> str:
        """Return the priority of an amount by the policy's thresholds."""
        names = [
            name for name in self.policy["parameters"] if name.startswith(("medium_from", "high_from", "critical"))
        ]
        limits = sorted(self.policy["parameters"][name] for name in names)
        return PRIORITIES[sum(1 for limit in limits if amount >= limit)]


class OrderedApprovalWorker(Worker):
    """One task with several approvals; `type_words` name the last approval type, `earlier_words` those before it."""

    earlier_words: ClassVar[tuple[str, ...]] = ()

    async def unblock(self) -> None:
        """Pass the ticket's blockers, and read the data that is only needed without an objection."""
        await super().unblock()
        await self.read_approval_context()

    async def read_approval_context(self) -> None:
        """Read the earlier approval types."""
        self.approval_ids: dict[str, str] = {}
        self.earlier = {words: await self.find_approval_type(words) for words in self.earlier_words}

    async def complete_ticket(self) -> None:
        """Complete the ticket and get the earlier approvals."""
        await super().complete_ticket()
        for words in self.earlier_words:
            self.approval_ids[words] = await self.earlier_approval(words)

    async def earlier_approval(self, words: str) -> str:
        """Get an earlier approval and return its id; its approver is excluded from the next one."""
        choose, fields = partial(self.earlier_approver, words), partial(self.earlier_fields, words)
        request_id, approver_id = await self.get_approval(self.earlier[words], choose, fields)
        for other in (*self.earlier.values(), self.approvals):
            other.excluded_ids.add(approver_id)
        return request_id

    async def earlier_approver(self, words: str) -> str:
        """Return today's approver of an earlier approval."""
        return await self.earlier[words].approver(self.amount_cents())

    def earlier_fields(self, words: str) -> Json:
        """Return the fields of an earlier approval request."""
        raise NotImplementedError


class MeasuringWorker(Worker):
    """One task whose request states the value of a metric as evidence."""

    metric: ClassVar[str]
    """The key of the metric."""

    evidence: MetricReading
    """The reading that the request states."""

    evidence_margin = EVIDENCE_MARGIN

    def measured(self) -> str:
        """Return the subject whose metric the request states."""
        raise NotImplementedError

    def metric_skill(self, subject: str) -> MetricSkill:
        """Return the skill that reads the metric of a subject."""
        return MetricSkill(self.client, self.metric, subject)

    async def measure(self, subject: str, since: datetime | None = None) -> MetricReading:
        """Return the authoritative value of a subject; refresh it if stale or too old."""
        return await self.metric_skill(subject).fresh(since)

    async def prepare_request(self) -> None:
        """Refresh the evidence if it is too old."""
        oldest = self.approvals.oldest_evidence(self.evidence_margin)
        if self.evidence.as_of < oldest:
            self.evidence = await self.measure(self.measured(), oldest)
