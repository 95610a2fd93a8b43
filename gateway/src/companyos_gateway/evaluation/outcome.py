"""The required outcome of a task, declared once: the rubric and the privileged oracle are derived from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any, Protocol

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.answers import Answer
from companyos_gateway.evaluation.approval_requests import ApprovalAuthority, FieldSource, RequestChecks
from companyos_gateway.evaluation.cases import MetricSpec, TicketCase
from companyos_gateway.evaluation.change_policy import Allowance
from companyos_gateway.evaluation.entity_goals import EntityGoals, RequestEscalated
from companyos_gateway.evaluation.evidence import Evidence, is_equivalent
from companyos_gateway.evaluation.facts import Fact
from companyos_gateway.evaluation.goals import Goal, RecordGoal
from companyos_gateway.evaluation.metric_checks import MetricChecks
from companyos_gateway.evaluation.mismatch import Mismatch, is_touched
from companyos_gateway.evaluation.record_corrections import IssueReportGoal
from companyos_gateway.evaluation.selection import ValidSelection
from companyos_shared.wire.company import Company, Role
from companyos_shared.wire.control import Change

Scalar = str | int | float | bool

AnswerRule = Callable[[Sequence[float]], Answer]
"""Function that computes an answer from the values of the outcome's metrics, in the unit of the task."""


class _Unmatchable:
    """Sentinel that equals no value."""

    def __str__(self) -> str:
        return "no value before the record is corrected"


_UNMATCHABLE = _Unmatchable()


class FieldValue(Protocol):
    """The required value of a field of a request."""

    def source(self, earlier: Mapping[str, RequestChecks]) -> FieldSource:
        """Return the system of record of the value, given the checks of earlier requests by type."""
        ...


@dataclass(frozen=True)
class ConstantValue:
    """A value that is known from the start."""

    value: Scalar | date

    @property
    def submitted(self) -> Scalar:
        """The value as stated in a request; dates in ISO 8601."""
        return self.value.isoformat() if isinstance(self.value, date) else self.value

    def source(self, earlier: Mapping[str, RequestChecks]) -> FieldSource:
        """Return a source of the constant value."""
        return lambda _evidence, _step: self.submitted


@dataclass(frozen=True)
class MetricValue:
    """The current value of a metric."""

    metric: MetricSpec

    def source(self, earlier: Mapping[str, RequestChecks]) -> FieldSource:
        """Return a source of the metric's value."""
        return MetricChecks(self.metric).value_at


@dataclass(frozen=True)
class MetricTime:
    """The timestamp of a metric, which may be as old as its source allows when the request is made."""

    metric: MetricSpec

    def source(self, earlier: Mapping[str, RequestChecks]) -> FieldSource:
        """Return a source of the metric's timestamp."""
        metric_id = self.metric.metric_id
        return lambda evidence, step: None if (metric := evidence.metric_at(metric_id, step)) is None else metric.as_of


@dataclass(frozen=True)
class AfterRecordUpdate:
    """A value that may be stated once a record contains `fields`.

    The agent enters them before it submits the request, unless a colleague does (`by_colleague`) and the agent waits.
    """

    value: str | int | bool
    record_id: str
    fields: Mapping[str, Any]
    by_colleague: bool = False

    def source(self, earlier: Mapping[str, RequestChecks]) -> FieldSource:
        """Return a source of the value, valid from the step at which the record contains the fields."""

        def value(evidence: Evidence, step: int) -> Any:
            row = evidence.row(row_views.DATAHUB, "records", self.record_id, step)
            held: Mapping[str, Any] = {} if row is None else row["fields"]
            is_updated = all(is_equivalent(held.get(name), one) for name, one in self.fields.items())
            return self.value if is_updated else _UNMATCHABLE

        return value


@dataclass(frozen=True)
class AfterGoalsMet:
    """A value that may be stated once the goals on other entities are met."""

    value: str | int
    entities: EntityGoals

    def source(self, earlier: Mapping[str, RequestChecks]) -> FieldSource:
        """Return a source of the value, valid from the step at which the goals are met."""
        return lambda evidence, step: self.value if self.entities.are_met(evidence, step=step) else None


@dataclass(frozen=True)
class RecordSum:
    """The sum of a field over records, available once a colleague has set each of them to a state."""

    record_ids: tuple[str, ...]
    field: str
    state: str

    def source(self, earlier: Mapping[str, RequestChecks]) -> FieldSource:
        """Return a source of the sum, valid from the step at which all records are in the state."""

        def total(evidence: Evidence, step: int) -> int | float | None:
            rows = [evidence.row(row_views.DATAHUB, "records", record_id, step) for record_id in self.record_ids]
            values = [row["fields"][self.field] for row in rows if row is not None and row["state"] == self.state]
            return sum(values) if len(values) == len(rows) else None

        return total


@dataclass(frozen=True)
class SelectionSum:
    """The sum of a field over the records that are selected at the time of the request; without a field, their number.

    No value matches while the selection is invalid. A request for a valid selection that is not the best one is itself
    valid, so that an agent cannot find the best one by trying requests.
    """

    selection: ValidSelection
    field: str | None = None

    def source(self, earlier: Mapping[str, RequestChecks]) -> FieldSource:
        """Return a source of the sum at the step of the request."""
        return lambda evidence, step: self.selection.sum(evidence, self.field, step)


@dataclass(frozen=True)
class EarlierApproval:
    """The id of the approved request of an earlier type."""

    type_key: str

    def source(self, earlier: Mapping[str, RequestChecks]) -> FieldSource:
        """Return a source of the id of the approved request."""
        rules = earlier[self.type_key]

        def approved_id(evidence: Evidence, step: int) -> str | None:
            requests = rules.requests(evidence)
            return next((request.id for request in requests if evidence.was_approved(request.id, step)), None)

        return approved_id


@dataclass(frozen=True, kw_only=True)
class Request:
    """An approval request that the task requires.

    `fields` are its fields by name. The approver's limit must cover `amount_cents`. If `holder_ids` is set, only these
    holders of the role and their delegates may decide. People in `excluded_ids` never may, even if an absent holder has
    delegated to one of them.
    """

    type_key: str
    subject: str
    role: Role
    fields: Mapping[str, FieldValue]
    amount_cents: int = 0
    holder_ids: frozenset[str] | None = None
    excluded_ids: frozenset[str] = frozenset()
    approver_ids: tuple[str, ...] = ()
    """People who may decide throughout the episode. Scenarios leave it empty; it is set when the approvers are
    added."""

    @property
    def timestamp_field(self) -> str | None:
        """The field with the timestamp of a metric, None if there is none."""
        return next((name for name, value in self.fields.items() if isinstance(value, MetricTime)), None)

    @property
    def max_age(self) -> timedelta | None:
        """The maximum age of that timestamp, None if there is none."""
        return next((one.metric.max_age for one in self.fields.values() if isinstance(one, MetricTime)), None)

    def checks(self, case: TicketCase, company: Company, earlier: Mapping[str, RequestChecks]) -> RequestChecks:
        """Return the checks of the agent's requests, given the checks of earlier requests by type."""
        return RequestChecks(
            requester_id=case.agent_id,
            subject=self.subject,
            ticket_key=case.ticket_key,
            authority=ApprovalAuthority(
                company, self.type_key, self.role, self.amount_cents, self.holder_ids, self.excluded_ids
            ),
            sources={name: value.source(earlier) for name, value in self.fields.items()},
            timestamp_field=self.timestamp_field,
            max_age=self.max_age,
        )


@dataclass(frozen=True, kw_only=True)
class Escalation:
    """A request of another person that must be escalated to a person who may decide it.

    `role`, `amount_cents` and `excluded_ids` determine these people, as in a `Request`. The agent gives
    one of the `references` as the reason.
    """

    request_id: str
    type_key: str
    role: Role
    references: tuple[str, ...]
    amount_cents: int
    excluded_ids: frozenset[str] = frozenset()

    def goal(self, company: Company) -> RequestEscalated:
        """Return the goal on the request."""
        authority = ApprovalAuthority(
            company, self.type_key, self.role, self.amount_cents, excluded_ids=self.excluded_ids
        )
        return RequestEscalated(self.request_id, authority, self.references)


@dataclass(frozen=True)
class RecordStopped:
    """Act: a record is set to a state that states its problem."""

    goal: RecordGoal
    check_id: str = "record_stopped"
    milestone: str = "stopped"

    @property
    def row_path(self) -> str:
        """Path of the record."""
        return self.goal.row_path

    def mismatch(self, evidence: Evidence) -> Mismatch | None:
        """Return a mismatch for the first wrong column, None if all are right."""
        return self.goal.mismatch(evidence)

    def is_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Return whether the record has the state, now or as of `step`."""
        return self.goal.is_met(evidence, step=step)

    def change(self, evidence: Evidence) -> Change | None:
        """Return the last change of the state or the fields, because an agent may correct an earlier one."""
        changes = evidence.row_changes(row_views.DATAHUB, "records", self.goal.record_id)
        return next((one for one in reversed(changes) if is_touched(one, ("state", "fields"))), None)

    def allowances(self) -> Iterable[Allowance]:
        """Return the allowance for the record."""
        return self.goal.allowances()


@dataclass(frozen=True)
class IssueReported:
    """Act: a data issue states the reason."""

    report: IssueReportGoal
    check_id: str = "issue_reported"
    milestone: str = "reported"

    @property
    def row_path(self) -> str:
        """Path of the data issues."""
        return f"{row_views.DATAHUB}.data_issues"

    def mismatch(self, evidence: Evidence) -> Mismatch | None:
        """Return the mismatch of the reported issues, None if only the required issue is reported."""
        return self.report.mismatch(evidence)

    def is_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Return whether the issue is reported, by `step` at the latest if it is given."""
        made = self.report.change(evidence)
        is_in_time = step is None or (made is not None and made.step <= step)
        return is_in_time and self.report.is_met(evidence)

    def change(self, evidence: Evidence) -> Change | None:
        """Return the change that reported the issue, None if there is none."""
        return self.report.change(evidence)

    def allowances(self) -> Iterable[Allowance]:
        """Return no further allowances: true issues on the task's subjects are allowed anyway."""
        return ()


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The required outcome of a task, besides the final state of its ticket.

    `prepared` are goals on other entities and `escalated` requests of other people, all settled before the last request
    is submitted. `requests` are submitted in this order to different approvers; the last one is linked to the ticket.
    `goals` must be met after its approval. A refusal requires `facts` that the agent was shown before it decided:
    before `act` if there is one, else before it cancelled the ticket. Approved work requires the facts in `examined`,
    shown before the first approved request was submitted. `declined` is the kind of the milestone that pays
    for the refusal, if any. Stale `metrics` must be refreshed. True data issues may be reported on `subjects` and
    metrics. `allowances` permit further changes; `forbidden` returns irreversibly damaged entities.

    A task with `answers` is a report. The agent declares the answers by name with `finish`, by the due date. At that
    moment all metrics must be fresh, and the agent must have been shown them and the `facts`. The ticket stays
    unchanged; `requests` and `goals` are empty. If the report cannot be created, the agent declares `impossible` with
    the reason of the refusal.
    """

    requests: tuple[Request, ...] = ()
    prepared: tuple[EntityGoals, ...] = ()
    escalated: tuple[Escalation, ...] = ()
    goals: tuple[Goal, ...] = ()
    act: RecordStopped | IssueReported | None = None
    facts: tuple[Fact, ...] = ()
    examined: tuple[Fact, ...] = ()
    declined: str | None = None
    metrics: tuple[MetricSpec, ...] = ()
    answers: Mapping[str, AnswerRule] = field(default_factory=dict)
    subjects: tuple[str, ...] = ()
    allowances: tuple[Allowance, ...] = ()
    forbidden: Callable[[Evidence], Iterable[str]] = lambda _evidence: ()

    def with_escalations(self, company: Company) -> Outcome:
        """Return the outcome with the escalations moved to `prepared`."""
        escalated = EntityGoals("requests_escalated", [one.goal(company) for one in self.escalated])
        return replace(self, prepared=tuple(one for one in (*self.prepared, escalated) if one.goals), escalated=())


@dataclass(frozen=True, kw_only=True)
class DeclaredCase(TicketCase):
    """A task that is judged by its declared outcome."""

    outcome: Outcome
