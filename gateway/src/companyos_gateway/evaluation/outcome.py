"""The outcome that a task requires, declared once: the rubric and the privileged oracle are derived from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Protocol

from companyos_gateway.evaluation.approval_requests import ApprovalAuthority, FieldSource, RequestChecks
from companyos_gateway.evaluation.cases import MetricSpec, TicketCase
from companyos_gateway.evaluation.change_policy import Allowance
from companyos_gateway.evaluation.facts import Fact
from companyos_gateway.evaluation.goals import Goal, source_once_record_holds
from companyos_gateway.evaluation.metric_checks import MetricChecks, constant_source
from companyos_gateway.evaluation.sequential_approvals import approved_request_source
from companyos_shared.wire.company import Company, Role

Scalar = str | int | float | bool


class FieldValue(Protocol):
    """The value that a field of a request must have."""

    def source(self, earlier: Mapping[str, RequestChecks]) -> FieldSource:
        """Return the system of record of the value, given the requests that are made before, by type."""
        ...


@dataclass(frozen=True)
class Given:
    """A value that is known from the start."""

    value: Scalar | date

    @property
    def submitted(self) -> Scalar:
        """The value as a request states it: dates in ISO 8601."""
        return self.value.isoformat() if isinstance(self.value, date) else self.value

    def source(self, earlier: Mapping[str, RequestChecks]) -> FieldSource:
        """Return the value."""
        return constant_source(self.submitted)


@dataclass(frozen=True)
class MetricValue:
    """The current value of a metric."""

    metric: MetricSpec

    def source(self, earlier: Mapping[str, RequestChecks]) -> FieldSource:
        """Return the metric's value."""
        return MetricChecks(self.metric).value_source()


@dataclass(frozen=True)
class MetricTime:
    """The timestamp of a metric, which may be as old as its source allows when the request is made."""

    metric: MetricSpec

    def source(self, earlier: Mapping[str, RequestChecks]) -> FieldSource:
        """Return the metric's timestamp."""
        return MetricChecks(self.metric).timestamp_source()


@dataclass(frozen=True)
class OnceRecorded:
    """A value that may be stated once a record holds `fields`.

    The agent enters them before it makes the request, unless a colleague does (`by_colleague`) and the agent waits.
    """

    value: str | int | bool
    record_id: str
    fields: Mapping[str, Any]
    by_colleague: bool = False

    def source(self, earlier: Mapping[str, RequestChecks]) -> FieldSource:
        """Return the value, from the step on at which the record holds the fields."""
        return source_once_record_holds(self.record_id, self.fields, allowed_value=self.value)


@dataclass(frozen=True)
class EarlierApproval:
    """The id of the approved request of an earlier type."""

    type_key: str

    def source(self, earlier: Mapping[str, RequestChecks]) -> FieldSource:
        """Return the id of the approved request."""
        return approved_request_source(earlier[self.type_key])


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request for approval that the task requires.

    `fields` are its fields by name. `amount_cents` is what the approver's limit is compared with. Where `holder_ids`
    are named, only these holders of the role count, and their delegates. `barred_ids` never decide.
    """

    type_key: str
    subject: str
    role: Role
    fields: Mapping[str, FieldValue]
    amount_cents: int = 0
    holder_ids: frozenset[str] | None = None
    barred_ids: frozenset[str] = frozenset()
    approver_ids: tuple[str, ...] = ()
    """Who may decide throughout the episode. Scenarios leave it empty: it is known once the approvers are added."""

    @property
    def timestamp_field(self) -> str | None:
        """The field with the timestamp of a metric, if there is one."""
        return next((name for name, value in self.fields.items() if isinstance(value, MetricTime)), None)

    @property
    def max_age(self) -> timedelta | None:
        """The maximum age of that timestamp."""
        return next((one.metric.max_age for one in self.fields.values() if isinstance(one, MetricTime)), None)

    def checks(self, case: TicketCase, company: Company, earlier: Mapping[str, RequestChecks]) -> RequestChecks:
        """Return the checks of the agent's requests, given those of the requests that are made before, by type."""
        return RequestChecks(
            requester_id=case.agent_id,
            subject=self.subject,
            ticket_key=case.ticket_key,
            authority=ApprovalAuthority(
                company, self.type_key, self.role, self.amount_cents, self.holder_ids, self.barred_ids
            ),
            sources={name: value.source(earlier) for name, value in self.fields.items()},
            timestamp_field=self.timestamp_field,
            max_age=self.max_age,
        )


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What the right end of a task consists of, besides its ticket.

    `requests` are made in this order, by different approvers; the last one is linked to the ticket. `goals` hold once
    it is approved. A refusal needs `facts`, which the agent was shown before it cancelled the ticket. Stale `metrics`
    have to be refreshed. True data issues may be reported on `subjects` and metrics. `allowances` permit further
    changes.
    """

    requests: tuple[Request, ...]
    goals: tuple[Goal, ...] = ()
    facts: tuple[Fact, ...] = ()
    metrics: tuple[MetricSpec, ...] = ()
    subjects: tuple[str, ...] = ()
    allowances: tuple[Allowance, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DeclaredCase(TicketCase):
    """A task that is judged by its declared outcome."""

    outcome: Outcome
