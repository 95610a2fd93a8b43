"""Evidence: the initial rows of an episode and everything that the services have reported since.

Changes are overlaid on the initial rows, which are never copied: many episodes of one task share them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.knowledge import Knowledge
from companyos_shared.choices import same_choice
from companyos_shared.streams import digest
from companyos_shared.wire.context import Actor
from companyos_shared.wire.control import AuditLine, Change, Report, Row, Rows

T = TypeVar("T")

_NOTHING: Any = object()
"""Sentinel for a value that was not computed yet."""


class RecordedCall(AuditLine):
    """A call of the agent with the response that it received; None if it received none."""

    response: Any = None

    def as_json(self) -> dict[str, Any]:
        """Return the call as JSON; without a response it is the audit line."""
        return self.model_dump(mode="json", exclude={"response"} if self.response is None else None)


RowKey = tuple[str, str, str]
"""Service, table and key of a row."""


@dataclass(frozen=True, slots=True)
class NetChange:
    """Net change of one row by the agent.

    `columns` are the columns that differ from before the agent's first change, or all columns if the agent added or
    deleted the row.
    """

    service: str
    table: str
    key: str
    added: bool
    deleted: bool
    columns: frozenset[str]
    before: Row | None
    after: Row | None

    @property
    def row_path(self) -> str:
        """Path of the row."""
        return f"{self.service}.{self.table}[{self.key}]"

    @property
    def description(self) -> str:
        """The change as text, such as `changed: status`."""
        if self.added or self.deleted:
            return "added" if self.added else "deleted"
        columns = ", ".join(sorted(self.columns - row_views.BOOKKEEPING_COLUMNS))
        return f"changed and restored: {columns}" if self.before == self.after else f"changed: {columns}"


@dataclass(slots=True)
class _RowTouches:
    """The agent's changes of one row: the row before the first of them, and the columns written."""

    first: Row | None
    columns: set[str] = field(default_factory=set)


class Evidence:
    """The evidence of one episode, indexed as it is recorded.

    `memoize` caches a value until something that its computation read changes: a row, a table, the calls of a service,
    or the knowledge of an entity. The cost of a verdict after a step therefore depends on the changes of the step only.
    """

    def __init__(self, initial: Mapping[str, Rows]) -> None:
        """Create the evidence of a new episode, given the initial rows by service."""
        self._initial = initial
        self._changes: dict[str, list[Change]] = {}
        self._audits: dict[str, list[RecordedCall]] = {}
        self._refused: dict[str, list[RecordedCall]] = {}
        self._views: list[tuple[int, dict[str, Any]]] = []
        self._knowledge = Knowledge()
        self._by_row: dict[RowKey, list[Change]] = {}
        self._touched: dict[RowKey, _RowTouches] = {}
        self._tables: dict[tuple[str, str], dict[str, None]] = {}
        self._memo: dict[Hashable, Any] = {}
        self._readers: defaultdict[Hashable, set[Hashable]] = defaultdict(set)
        self._reading: set[Hashable] | None = None
        self._accumulated: dict[Hashable, Any] = {}
        self._declared_at: datetime | None = None

    def record(self, service: str, report: Report, response: Any = None) -> None:
        """Add the report of a service and the response that the agent received, with the service's own field names.

        Changes and calls that were recorded before, as identified by their seq or step, are ignored.
        """
        seen = self._changes.setdefault(service, [])
        last_seq = seen[-1].seq if seen else 0
        for change in report.changes:
            if change.seq > last_seq:
                self._apply(service, change)
        audits = self._audits.setdefault(service, [])
        if report.audit is not None and (not audits or audits[-1].step < report.audit.step):
            self._add_call(service, RecordedCall(**vars(report.audit), response=response))

    @property
    def declared_at(self) -> datetime | None:
        """The simulated time at which the agent declared the outcome; None before that."""
        self._note("declared")
        return self._declared_at

    @declared_at.setter
    def declared_at(self, at: datetime | None) -> None:
        self._declared_at = at
        self._forget("declared")

    def services(self) -> list[str]:
        """Return the services of the episode."""
        return sorted(self._initial)

    def changes(self, service: str) -> Sequence[Change]:
        """Return every change in the service, in order."""
        self._note(("changes", service))
        return self._changes.get(service, ())

    def audits(self, service: str) -> Sequence[RecordedCall]:
        """Return the agent's calls as parsed by the service, with their responses, in order."""
        self._note(("calls", service))
        return self._audits.get(service, ())

    def refused_calls(self, service: str) -> Sequence[AuditLine]:
        """Return the agent's calls that the service rejected with an error, in order."""
        self._note(("refused", service))
        return self._refused.get(service, ())

    def add_view(self, step: int, shown: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Add the objects that a page showed after a step; return those that are new to the agent."""
        added = [row for row in shown if self._forget_known(self._knowledge.add_view(step, row))]
        self._views += [(step, row) for row in added]
        return added

    def knew(self, entity: str, *columns: str, before: int, **values: Any) -> bool:
        """Return whether the agent was shown these columns of an entity together, with these values, before a step.

        Any tool or page counts.
        """
        self._note(("known", entity))
        return self._knowledge.has_seen(entity, before=before, columns=columns, values=values)

    def last_shown(self, entity: str, *, before: int | None) -> int | None:
        """Return the last step before `before` (None: up to now) that showed something new of an entity, or None."""
        self._note(("known", entity))
        return self._knowledge.last_shown(entity, before=before)

    def row(self, service: str, table: str, key: str, step: int | None = None) -> Row | None:
        """Return the row as it is now, or as it was after `step`."""
        changes = self.row_changes(service, table, key)
        if step is None:
            return changes[-1].after if changes else self._initial_row(service, table, key)
        row = self._initial_row(service, table, key)
        for change in changes:
            if change.step > step:
                break
            row = change.after
        return row

    def row_changes(self, service: str, table: str, key: str) -> Sequence[Change]:
        """Return every change of the row, in order."""
        row_key = (service, table, key)
        self._note(row_key)
        return self._by_row.get(row_key, ())

    def was_added(self, service: str, table: str, key: str) -> bool:
        """Return whether the row was added since the start, even if it was deleted again."""
        return self._initial_row(service, table, key) is None and bool(self.row_changes(service, table, key))

    def changed_keys(self, service: str, table: str) -> Iterable[str]:
        """Return the keys of the table's rows that have changed, in order of their first change."""
        self._note((service, table))
        return self._tables.get((service, table), {}).keys()

    def table(self, service: str, table: str) -> dict[str, Row]:
        """Return every row of the table as it is now, by key."""
        rows = dict(self._initial.get(service, {}).get(table, {}))
        for key in self.changed_keys(service, table):
            row = self.row(service, table, key)
            if row is None:
                rows.pop(key, None)
            else:
                rows[key] = row
        return rows

    def memoize(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the cached value of the key; compute it if it is missing or if something that it read has changed.

        A computation may depend only on what it reads from the evidence.
        """
        if self._reading is not None:
            self._reading.add(key)
        value: T = self._memo.get(key, _NOTHING)
        return self._compute(key, compute) if value is _NOTHING else value

    def _compute(self, key: Hashable, compute: Callable[[], T]) -> T:
        reads: set[Hashable] = set()
        around, self._reading = self._reading, reads
        try:
            value = self._memo[key] = compute()
        finally:
            self._reading = around
        for record in reads:
            self._readers[record].add(key)
        return value

    def _note(self, record: Hashable) -> None:
        """Register a record as a dependency of the running computation."""
        if self._reading is not None:
            self._reading.add(record)

    def _forget(self, record: Hashable) -> None:
        """Drop the values that were computed from a changed record, and the values computed from those."""
        for key in self._readers.pop(record, ()):
            if self._memo.pop(key, _NOTHING) is not _NOTHING:
                self._forget(key)

    def _forget_known(self, entities: Sequence[str]) -> bool:
        """Drop the values that were computed from what the agent knew of entities; return whether there are any."""
        for entity in entities:
            self._forget(("known", entity))
        return bool(entities)

    def accumulate(self, key: Hashable, create: Callable[[], T]) -> T:
        """Return the state of an incremental computation that reads each record once; it is created on first use."""
        found: T = self._accumulated.setdefault(key, None) or create()
        self._accumulated[key] = found
        return found

    def touched_rows(self) -> Iterable[RowKey]:
        """Return the rows changed by the agent or in consequence of its calls, even if the changes were undone."""
        self._note("touched rows")
        return self._touched.keys()

    def agent_changes(self) -> Sequence[NetChange]:
        """Return the agent's net changes."""
        return [net for row_key in self.touched_rows() if (net := self.net_change(row_key)) is not None]

    def net_change(self, row_key: RowKey) -> NetChange | None:
        """Return the agent's net change of a row, None if there is none."""
        return self.memoize(("net", row_key), partial(self._find_net_change, row_key))

    def _find_net_change(self, row_key: RowKey) -> NetChange | None:
        now, touched = self.row(*row_key), self._touched.get(row_key)
        return None if touched is None else _net(row_key, touched, now)

    def restored_rows(self, service: str, table: str) -> Sequence[NetChange]:
        """Return the rows that the agent changed and restored, with the columns that it had changed."""
        return self.memoize(("restored", service, table), partial(self._find_restored_rows, service, table))

    def _find_restored_rows(self, service: str, table: str) -> list[NetChange]:
        found = []
        for key in self.changed_keys(service, table):
            row_key = (service, table, key)
            touched = self._touched.get(row_key)
            if touched is None or touched.first is None:
                continue
            columns, net = touched.columns - row_views.BOOKKEEPING_COLUMNS, self.net_change(row_key)
            if columns and (net is None or net.columns <= row_views.BOOKKEEPING_COLUMNS):
                found.append(NetChange(*row_key, False, False, frozenset(columns), touched.first, touched.first))
        return found

    def fold_digest(self, service: str) -> str:
        """Return the digest of all content rows as they are now: the initial rows with every change applied."""
        tables = {table for named, table in self._tables if named == service}
        names = {*self._initial.get(service, {}), *tables}
        return digest({name: self.table(service, name) for name in names})

    def ticket(self, key: str) -> row_views.TicketView | None:
        """Return the ticket as it is now."""
        return self.memoize(("ticket", key), partial(self._parse_ticket, key))

    def _parse_ticket(self, key: str) -> row_views.TicketView | None:
        row = self.row(row_views.TICKETDESK, "tickets", key)
        return None if row is None else row_views.parse_ticket(row)

    def metric_at(self, metric_id: str, step: int) -> row_views.MetricView | None:
        """Return the metric as it was after the step."""
        row = self.row(row_views.DATAHUB, "metrics", metric_id, step)
        return None if row is None else row_views.parse_metric(row)

    def request(self, request_id: str, step: int | None = None) -> row_views.RequestView | None:
        """Return the approval request as it is now, or as it was after `step`."""
        row = self.row(row_views.APPROVALFLOW, "requests", request_id, step)
        return None if row is None else row_views.parse_request(row)

    def was_approved(self, request_id: str, step: int) -> bool:
        """Return whether the request was approved as of the step."""
        row = self.row(row_views.APPROVALFLOW, "requests", request_id, step)
        return row is not None and row["status"] == "approved"

    def submitted_requests(self, requester_id: str) -> list[row_views.RequestView]:
        """Return the requests that the person has submitted since the start, as they are now."""
        found = []
        for key in self.changed_keys(row_views.APPROVALFLOW, "requests"):
            row = self.row(row_views.APPROVALFLOW, "requests", key)
            is_new = self._initial_row(row_views.APPROVALFLOW, "requests", key) is None
            if row is not None and is_new and row["requester_id"] == requester_id:
                found.append(row_views.parse_request(row))
        return found

    def new_decisions(self, request_id: str) -> list[row_views.DecisionView]:
        """Return the decisions made on a request since the start."""
        keys = self.changed_keys(row_views.APPROVALFLOW, "decisions")
        rows = (self.row(row_views.APPROVALFLOW, "decisions", key) for key in keys)
        return [
            decision for row in rows if row and (decision := row_views.parse_decision(row)).request_id == request_id
        ]

    def as_json(self) -> dict[str, Any]:
        """Return the evidence as JSON for storage."""
        return {
            "initial": dict(self._initial),
            "changes": {
                name: [change.model_dump(mode="json") for change in rows] for name, rows in self._changes.items()
            },
            "audits": {name: [call.as_json() for call in calls] for name, calls in self._audits.items()},
            "views": [{"step": step, "shown": shown} for step, shown in self._views],
            "declared_at": None if self.declared_at is None else self.declared_at.isoformat(),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Evidence:
        """Restore the evidence from stored JSON."""
        evidence = cls(stored["initial"])
        for service, changes in stored["changes"].items():
            evidence.record(service, Report(changes=[Change.model_validate(change) for change in changes]))
        lines = [
            (name, RecordedCall.model_validate(line)) for name, found in stored["audits"].items() for line in found
        ]
        views = [(view["step"], 1, ("", view["shown"])) for view in stored.get("views", [])]
        calls = [(line.step, 0, (service, line)) for service, line in lines]
        for step, _, (service, record) in sorted([*calls, *views], key=lambda one: one[:2]):
            if isinstance(record, RecordedCall):
                evidence._add_call(service, record)
            else:
                evidence.add_view(step, [record])
        declared_at = stored.get("declared_at")
        evidence.declared_at = None if declared_at is None else row_views.parse_time(declared_at)
        return evidence

    def _add_call(self, service: str, call: RecordedCall) -> None:
        self._audits.setdefault(service, []).append(call)
        self._forget(("calls", service))
        if call.status >= row_views.FIRST_ERROR_STATUS:
            self._refused.setdefault(service, []).append(call)
            self._forget(("refused", service))
        elif call.response is not None:
            self._forget_known(self._knowledge.add(call.step, call.arguments, call.response))

    def _initial_row(self, service: str, table: str, key: str) -> Row | None:
        return self._initial.get(service, {}).get(table, {}).get(key)

    def _apply(self, service: str, change: Change) -> None:
        row_key = (service, change.table, change.key)
        for record in (("changes", service), row_key[:2], row_key):
            self._forget(record)
        self._changes[service].append(change)
        self._by_row.setdefault(row_key, []).append(change)
        self._tables.setdefault((service, change.table), {})[change.key] = None
        if change.actor is Actor.AGENT or change.cause is not None:
            touched = self._touched.get(row_key)
            if touched is None:
                touched = self._touched[row_key] = _RowTouches(first=change.before)
                self._forget("touched rows")
            touched.columns |= _changed_columns(change.before, change.after)


def _changed_columns(before: Row | None, after: Row | None) -> set[str]:
    if before is None or after is None:
        return set(before or after or ())
    return {name for name, value in after.items() if not same_value(before.get(name), value)}


def _net(row_key: RowKey, touched: _RowTouches, now: Row | None) -> NetChange | None:
    first = touched.first
    if first is None and now is None:
        return None
    service, table, key = row_key
    if first is None or now is None:
        columns = frozenset(first or now or ())
    else:
        columns = frozenset(name for name in touched.columns if not same_value(first.get(name), now.get(name)))
        if not columns:
            return None
    return NetChange(service, table, key, first is None, now is None, columns, first, now)


def is_equivalent(value: Any, expected: Any) -> bool:
    """Return whether a value equals the expected one; choices may be spelled as a page shows them."""
    if isinstance(value, str) and isinstance(expected, str):
        return same_choice(value, expected)
    return same_value(value, expected)


def same_value(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal; 85 and 85.0 are, true and 1 are not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)
