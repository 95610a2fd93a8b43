"""The privileged oracle: works on the ticket, creates the requests, reaches the goals, reads the facts of a refusal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from math import ceil
from typing import Any, cast

from companyos.policies import Call
from companyos_gateway.evaluation.cases import BlockerResolution, MetricSpec
from companyos_gateway.evaluation.checklist import BackingRow, ChecklistItem
from companyos_gateway.evaluation.entity_goals import (
    CertificateOnFile,
    DelegationRevoked,
    RequestCancelled,
    RequestWithdrawn,
)
from companyos_gateway.evaluation.facts import FailedRefreshes
from companyos_gateway.evaluation.goals import EntityGoal, Goal, RecordGoal, TicketResolved, VendorGoal
from companyos_gateway.evaluation.metric_checks import MAINTENANCE, MetricChecks
from companyos_gateway.evaluation.outcome import (
    AfterGoalsMet,
    AfterRecordUpdate,
    ConstantValue,
    DeclaredCase,
    EarlierApproval,
    FieldValue,
    IssueReported,
    MetricTime,
    MetricValue,
    RecordStopped,
    RecordSum,
    Request,
    SelectionSum,
)
from companyos_gateway.evaluation.record_corrections import MetricReported, RecordCorrected
from companyos_gateway.evaluation.selection import ValidSelection
from companyos_gateway.evaluation.ticket_goals import PartResolved, TicketGoal, TicketLinked
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.blocks.task import RubricFactory
from companyos_players import ApprovalSkill, RecordSkill, RequestSkill, TicketSkill, ToolClient, ToolRefusedError
from companyos_players.approvals import default_answer
from companyos_players.field_names import rename_fields
from companyos_players.tickets import STATUS_CHANGED

COLLEAGUE_WAIT_MINUTES = 1440
LONGEST_REFRESH_MINUTES = 95
JUSTIFICATION = "Checked against the policy in force; everything that it asks for is in place."
READS = {
    "datahub.policies": ("datahub_get_policy", "policy_id"),
    "approvalflow.approval_types": ("approvalflow_get_approval_type", "type_key"),
    "datahub.records": ("datahub_get_record", "record_id"),
    "datahub.vendors": ("datahub_get_vendor", "vendor_id"),
    "datahub.people": ("datahub_get_person", "person_id"),
    "datahub.metrics": ("datahub_get_metric_history", "metric_id"),
    "datahub.sources": ("datahub_get_source", "source_id"),
    "ticketdesk.tickets": ("ticketdesk_get_ticket", "key"),
    "approvalflow.requests": ("approvalflow_get_approval", "request_id"),
}
"""For each table, the tool that returns a row and the argument that takes its key."""

_ROW_PATH = re.compile(r"(?P<table>[a-z._]+)\[(?P<key>.+)\]")


class OutcomeOracle:
    """Does the work on the ticket of a known instance. It reads only data that the episode creates."""

    def __init__(self, case: DeclaredCase, client: ToolClient, answers: Mapping[str, str]) -> None:
        self.case = case
        self.client = client
        self.answers = answers
        """The answers that approvers accept, by question."""
        self.ticket = TicketSkill(client, case.ticket_key)
        self.records = RecordSkill(client)
        self.requests = RequestSkill(client)
        self.approved: dict[str, str] = {}
        """The id of the approved request of each type so far."""
        self.looked_up: set[BackingRow] = set()
        """The rows that were read for checklist items."""
        self.assigned = Counter(_only_assignees(case))
        """The number of tickets per person: tickets that only this person may have, and those assigned so far."""

    async def answer(self, text: str) -> str:
        """Return the accepted answer to a question; the text may start with an introduction."""
        known = [answer for question, answer in self.answers.items() if text.endswith(question)]
        return known[0] if known else await default_answer(text)

    async def work(self) -> None:
        """Submit the report, or do the work on the ticket from the first status to `finish`."""
        case = self.case
        if case.outcome.answers:
            await self.report()
        if case.first_status is None:
            await self.ticket.transition("open")
        if case.refusal is not None:
            await self.learn()
            reason = {"reason_code": case.refusal.code, "reason_ref": case.refusal.references[-1]}
            await self.ticket.transition("cancelled", **reason)
            await self.client.finish("refused", "The policy does not allow it.", **reason)
        await self.unblock()
        if case.needs_priority:
            await self.ticket.set_priority(case.priority)
        if case.needs_assignee:
            await self.ticket.assign(case.assignee_ids[0])
        for item in case.open_items:
            await self.look_up(item)
            await self.ticket.complete_item(item.id)
        await self.ticket.verify()
        await self.execute()
        try:
            await self.end()
        except ToolRefusedError as refusal:
            if refusal.code != STATUS_CHANGED:
                raise
            await self.end()
        await self.reread()
        await self.client.finish("done", "It is done.")

    async def end(self) -> None:
        """Move the ticket from its current status to its end status."""
        ticket = await self.reread()
        if ticket["status"] != "in_progress":
            await self.ticket.transition("in_progress")
        if self.case.end_status != "in_progress":
            await self.ticket.transition(self.case.end_status)

    async def reread(self) -> dict[str, Any]:
        """Read the ticket, which colleagues may have changed, and restore the priority."""
        ticket = await self.ticket.read()
        if ticket["priority"] != self.case.priority:
            await self.ticket.set_priority(self.case.priority)
        return ticket

    async def report(self) -> None:
        """Declare the answers once all metrics are fresh at the same time, or the reason why there are none."""
        await self.ticket.read()
        outcome, refusal = self.case.outcome, self.case.refusal
        if refusal is not None:
            await self.learn()
            reason = {"reason_code": refusal.code, "reason_ref": refusal.references[-1]}
            await self.client.finish("impossible", "The figure is not available.", **reason)
        for fact in outcome.facts:
            await self.read(fact.entity)
        values = [reading["value"] for reading in await self.fresh(*outcome.metrics)]
        answers = {name: rule(values) for name, rule in outcome.answers.items()}
        await self.client.finish("done", "The figures are in the answers.", answers=answers)

    async def learn(self) -> None:
        """Read the facts of the refusal, then settle the entities and do the act that is required before it."""
        outcome = self.case.outcome
        metrics = {MetricChecks(metric).row_path: metric for metric in outcome.metrics}
        for fact in outcome.facts:
            if isinstance(fact, FailedRefreshes):
                for _ in range(fact.count):
                    await self.refresh(metrics[fact.entity])
            elif fact.entity in metrics:
                await self.reading(metrics[fact.entity])
            else:
                await self.read(fact.entity)
        await self.settle()
        match outcome.act:
            case RecordStopped(goal):
                await self.reach(goal, "")
            case IssueReported(report):
                reason = {"reason_code": report.refusal.code, "reason_ref": report.refusal.references[-1]}
                issue = {"subject": sorted(report.subjects)[0], "kind": report.kind, "description": JUSTIFICATION}
                await self.client.create("datahub_report_data_issue", **issue, **reason)

    async def look_up(self, item: ChecklistItem) -> None:
        """Read the rows that back a checklist item, except those already read."""
        metrics = {metric_id: one for one in self.case.outcome.metrics for metric_id in _metric_ids(one)}
        for row in (rows[0] for rows in item.backing):
            if row in self.looked_up:
                continue
            self.looked_up.add(row)
            if row.key in metrics:
                metric = metrics[row.key]
                await self.client.call("datahub_query_metric", key=metric.key, subject=metric.subject)
            else:
                await self.read(row.row_path)

    async def unblock(self) -> None:
        """Settle the parts that block the ticket, then resolve, unlink or await the blocker."""
        if self.has_parts:
            await self.settle()
        blocker = self.case.blocker
        if blocker is None:
            if self.case.first_status == "blocked":
                await self.ticket.transition("open")
            return
        if blocker.resolution is BlockerResolution.RESOLVE:
            await TicketSkill(self.client, blocker.key).transition("resolved")
        if blocker.resolution is BlockerResolution.UNLINK:
            await self.ticket.unlink(blocker.link_id, "This was linked by mistake.")
        if blocker.resolution is BlockerResolution.WAIT:
            await self.ticket.read()
            minutes = ceil((blocker.free_at - self.client.now()).total_seconds() / 60)
            await self.client.wait(max(1, minutes))
        if self.case.first_status == "blocked":
            await self.ticket.transition("open")

    async def execute(self) -> None:
        """Settle the entities, then get the approvals, link the last one and reach the goals."""
        if not self.has_parts:
            await self.settle()
        if not self.case.outcome.requests:
            return
        request_id = await self.approval()
        await self.ticket.link_approval(request_id)
        for goal in self.case.outcome.goals:
            await self.reach(goal, request_id)

    @property
    def has_parts(self) -> bool:
        """Return whether parts of the work have their own tickets, which block this one."""
        return any(isinstance(goal, PartResolved) for goal in self.entity_goals())

    def entity_goals(self) -> list[EntityGoal]:
        """Return the goals of all entities that must be settled."""
        return [goal for entities in self.case.outcome.prepared for goal in entities.goals]

    async def settle(self) -> None:
        """Reach every entity goal, and escalate requests."""
        for goal in self.entity_goals():
            await self.settle_one(goal)
        for one in self.case.outcome.escalated:
            await self.requests.escalate(one.request_id, self.case.approver_ids[0], JUSTIFICATION, one.references[0])

    async def settle_one(self, goal: EntityGoal) -> None:
        """Reach one entity goal."""
        match goal:
            case RecordGoal() | VendorGoal():
                await self.reach(goal, "")
            case CertificateOnFile():
                await self.file_certificate(goal)
            case RequestWithdrawn() | RequestCancelled() | DelegationRevoked():
                await self.take_back(goal)
            case TicketGoal():
                await self.bring(goal)
            case TicketLinked():
                await self.link(goal)
            case PartResolved(key):
                await TicketSkill(self.client, key).transition("resolved")
            case RecordCorrected(record_goal, metric):
                await self.reading(metric)
                await self.reach(record_goal, "")
            case ValidSelection():
                pass  # the goals of the single records yield the best selection, which is valid
            case MetricReported(metric_id, kind):
                issue = {"subject": metric_id, "kind": kind, "description": JUSTIFICATION}
                await self.client.create("datahub_report_data_issue", **issue)
            case _:
                raise TypeError(f"unknown goal {goal!r}")

    async def take_back(self, goal: RequestWithdrawn | RequestCancelled | DelegationRevoked) -> None:
        """Withdraw or cancel a request, or revoke a delegation."""
        match goal:
            case RequestWithdrawn(request_id):
                await self.requests.withdraw(request_id)
            case RequestCancelled(request_id, reason):
                await self.requests.cancel(request_id, reason.code, reason.references[0])
            case DelegationRevoked(delegation_id):
                await self.requests.revoke(delegation_id)

    async def bring(self, goal: TicketGoal) -> None:
        """Reach the goal of another ticket: cancel it as a duplicate, or set its priority and assignee."""
        ticket = TicketSkill(self.client, goal.key)
        if (await ticket.read())["status"] is None:
            await ticket.transition("open")
        if goal.link is not None:
            await self.link(goal.link)
            await ticket.transition("cancelled", reason_code="duplicate", reason_ref=goal.link.to_key)
            return
        if goal.priority not in (None, ticket.known["priority"]):
            await ticket.set_priority(str(goal.priority))
        if goal.assignee_ids and ticket.known["assignee_id"] not in goal.assignee_ids:
            await self.assign(ticket, goal.assignee_ids)

    async def assign(self, ticket: TicketSkill, assignee_ids: Sequence[str]) -> None:
        """Assign a ticket to the person with the fewest tickets whom TicketDesk accepts."""
        for person_id in sorted(assignee_ids, key=lambda one: self.assigned[one]):
            try:
                await ticket.assign(person_id)
            except ToolRefusedError:
                continue
            self.assigned[person_id] += 1
            return

    async def link(self, goal: TicketLinked) -> None:
        """Link two tickets."""
        link = {"key": goal.from_key, "kind": goal.kind, "to_key": goal.to_key}
        await self.client.create("ticketdesk_link_tickets", **link)

    async def read(self, row_path: str) -> None:
        """Read a row by its path, such as `datahub.records[CTR-1]`."""
        found = _ROW_PATH.fullmatch(row_path)
        if found is not None and found["table"] in READS:
            tool, argument = READS[found["table"]]
            await self.client.call(tool, **{argument: found["key"]})

    async def file_certificate(self, goal: CertificateOnFile) -> None:
        """File a certificate once its document is published."""
        while goal.document_id and (await self.records.read(goal.document_id))["state"] == "draft":
            await self.client.wait(COLLEAGUE_WAIT_MINUTES)
        certificate = {name: getattr(goal, name) for name in ("kind", "issued_on", "expires_on")}
        await self.client.call("datahub_update_vendor", vendor_id=goal.vendor_id, certificate=certificate)

    async def approval(self) -> str:
        """Get the approvals in order, and return the id of the last request."""
        request_id = ""
        for request in self.case.outcome.requests:
            request_id = self.approved[request.type_key] = await self.approval_of(request)
        return request_id

    async def approval_of(self, request: Request) -> str:
        """Submit a request until it is approved, and return its id."""
        skill = ApprovalSkill(self.client, {"key": request.type_key}, own_id=self.case.agent_id, answer=self.answer)
        while True:
            fields = {name: await self.value(one) for name, one in request.fields.items()}
            for fact in () if self.approved else self.case.outcome.examined:
                await self.read(fact.entity)
            request_id = await skill.submit(request.subject, request.approver_ids[0], fields, JUSTIFICATION)
            if await skill.await_decision(request_id) == "approved":
                return request_id

    async def value(self, value: FieldValue) -> Any:
        """Return a field's value, after the work or wait that it requires."""
        match value:
            case ConstantValue():
                return value.submitted
            case MetricValue():
                return (await self.reading(value.metric))["value"]
            case MetricTime():
                return (await self.reading(value.metric))["as_of"]
            case AfterGoalsMet():
                return value.value
            case AfterRecordUpdate():
                await self.ensure_recorded(value)
                return value.value
            case RecordSum():
                return await self.sum_of(value)
            case SelectionSum():
                records = [await self.records.read(one) for one in value.selection.record_ids]
                selected = [one for one in records if one["state"] == value.selection.state]
                return sum(1 if value.field is None else one["fields"][value.field] for one in selected)
            case EarlierApproval():
                return self.approved[value.type_key]
        raise TypeError(f"unknown field value {value!r}")

    async def reading(self, metric: MetricSpec) -> dict[str, Any]:
        """Return a fresh reading of a metric."""
        return (await self.fresh(metric))[0]

    async def fresh(self, *metrics: MetricSpec) -> list[dict[str, Any]]:
        """Return readings of metrics that are fresh at the same time, with values in the unit of the task."""
        while True:
            readings = [await self.query(metric) for metric in metrics]
            stale = [metric for metric, reading in zip(metrics, readings, strict=True) if reading["is_stale"]]
            if not stale:
                return readings
            await self.refresh(*stale)

    async def query(self, metric: MetricSpec) -> dict[str, Any]:
        """Return the current reading of a metric."""
        about = {"key": metric.key, "subject": metric.subject, "source_id": metric.source_id}
        reading = (await self.client.call("datahub_query_metric", **about))["readings"][0]
        return {**reading, "value": reading["value"] / metric.per_unit}

    async def refresh(self, *metrics: MetricSpec) -> None:
        """Refresh metrics, after a source's maintenance if necessary, and wait for the results."""
        for metric in metrics:
            try:
                await self.client.create("datahub_refresh_metric", metric_id=metric.metric_id)
            except ToolRefusedError as refusal:
                if refusal.code != MAINTENANCE:
                    raise
                source = await self.client.call("datahub_get_source", source_id=metric.source_id)
                await self.wait_until(datetime.fromisoformat(source["maintenance_to"]))
                await self.client.create("datahub_refresh_metric", metric_id=metric.metric_id)
        await self.client.wait(LONGEST_REFRESH_MINUTES)

    async def ensure_recorded(self, value: AfterRecordUpdate) -> None:
        """Enter the fields of a record, or wait until a colleague has entered them."""
        while not value.fields.items() <= (held := (await self.records.read(value.record_id))["fields"]).items():
            if value.by_colleague:
                await self.client.wait(COLLEAGUE_WAIT_MINUTES)
            else:
                await self.records.update(value.record_id, fields={**_changed(value.fields, held)})

    async def sum_of(self, value: RecordSum) -> int:
        """Wait until the records are in the given state, and return the sum of a field."""
        while True:
            records = [await self.records.read(record_id) for record_id in value.record_ids]
            if all(record["state"] == value.state for record in records):
                return sum(record["fields"][value.field] for record in records)
            await self.client.wait(COLLEAGUE_WAIT_MINUTES)

    async def wait_until(self, moment: datetime) -> None:
        """Wait until a moment; returns at once if it is in the past."""
        left = moment - self.client.now()
        if left > timedelta():
            await self.client.wait(ceil(left / timedelta(minutes=1)))

    async def reach(self, goal: Goal, request_id: str) -> None:
        """Reach one goal."""
        match goal:
            case RecordGoal():
                reference = {goal.reference_field: request_id} if goal.reference_field else {}
                changes = {"state": goal.state, "ends_on": goal.ends_on, "fields": {**goal.fields, **reference}}
                await self.records.update(goal.record_id, **{name: one for name, one in changes.items() if one})
            case VendorGoal():
                if goal.not_before is not None:
                    await self.wait_until(datetime.combine(goal.not_before, time(), UTC))
                await self.client.call("datahub_update_vendor", vendor_id=goal.vendor_id, **goal.columns)
            case TicketResolved():
                await self.resolve(goal)
            case _:
                raise TypeError(f"unknown goal {goal!r}")

    async def resolve(self, goal: TicketResolved) -> None:
        """Resolve a ticket, or wait until a colleague has resolved it."""
        ticket = TicketSkill(self.client, goal.key)
        while (await ticket.read())["status"] != "resolved":
            if goal.by_colleague:
                await self.client.wait(COLLEAGUE_WAIT_MINUTES)
            else:
                await ticket.transition("resolved")


def _only_assignees(case: DeclaredCase) -> list[str]:
    """Return the only allowed assignee of each ticket that has just one."""
    goals = (goal for entities in case.outcome.prepared for goal in entities.goals)
    allowed = [goal.assignee_ids or () for goal in goals if isinstance(goal, TicketGoal)]
    return [one[0] for one in allowed if len(one) == 1]


def _metric_ids(metric: MetricSpec) -> tuple[str, ...]:
    return metric.metric_id, *metric.other_metric_ids


def _changed(fields: Any, held: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if held.get(name) != value}


def privileged_player(scenario: str) -> Callable[[int, int, Call], Awaitable[None]]:
    """Return a player of the instances of a scenario, by seed and chaos level; it knows names that drift changed."""

    async def play_seed(seed: int, chaos: int, call: Call) -> None:
        instance = catalogue()[scenario].plan(seed, chaos)
        reactions = instance.documents["approvalflow"]["reactions"]
        answers = {row["reason"]: str(row["accepted"][0]) for row in reactions if row["accepted"]}
        case = cast(RubricFactory, instance.build_rubric).case
        await OutcomeOracle(case, ToolClient(rename_fields(instance.drift.names, call)), answers).work()

    return play_seed
