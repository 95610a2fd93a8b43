"""Goals of a task: the interface of a goal, and goals on vendors, records and tickets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Protocol

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.approval_requests import FieldSource
from companyos_gateway.evaluation.change_policy import Allowance, changed_keys
from companyos_gateway.evaluation.evidence import Evidence, is_equivalent
from companyos_gateway.evaluation.mismatch import Mismatch, find_row_mismatch, is_touched, row_path


class Goal(Protocol):
    """Something that must be so at the end, and only once a request was approved."""

    def is_met(self, evidence: Evidence, request_id: str | None, *, step: int | None = None) -> bool:
        """Say whether it is so, now or once a step had been taken."""
        ...

    def mismatch(self, evidence: Evidence, request_id: str | None, *, step: int | None = None) -> Mismatch | None:
        """Return what is not as it must be, now or once a step had been taken; None if all is."""
        ...

    def premature_step(self, evidence: Evidence, request_id: str) -> int | None:
        """Return the step that brought it about before the request was approved, None if none did."""
        ...

    @property
    def row_path(self) -> str:
        """The row, as verdicts name it."""
        ...

    def allowance(self) -> Allowance:
        """Return what may change on the way."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class VendorGoal:
    """Required final state of a vendor by column; other columns must not change.

    Nothing of it is entered before the day of `not_before`, where there is one.
    """

    vendor_id: str
    columns: Mapping[str, Any]
    not_before: date | None = None

    def is_met(self, evidence: Evidence, request_id: str | None, *, step: int | None = None) -> bool:
        """Say whether the vendor is so, now or once a step had been taken."""
        return self.mismatch(evidence, request_id, step=step) is None

    def mismatch(self, evidence: Evidence, request_id: str | None, *, step: int | None = None) -> Mismatch | None:
        """Return the first column that is not as it must be, None if all are."""
        return find_row_mismatch(
            evidence,
            row_views.DATAHUB,
            "vendors",
            self.vendor_id,
            self.columns,
            step=step,
            is_same=is_equivalent,
        )

    @property
    def row_path(self) -> str:
        """The vendor."""
        return row_path(row_views.DATAHUB, "vendors", self.vendor_id)

    def premature_step(self, evidence: Evidence, request_id: str) -> int | None:
        """Return the step that changed a column before the request was approved, or before its day; None if none."""
        for change in evidence.row_changes(row_views.DATAHUB, "vendors", self.vendor_id):
            if not is_touched(change, self.columns):
                continue
            row = evidence.row_at(row_views.APPROVALFLOW, "requests", request_id, change.step)
            is_early = self.not_before is not None and change.at.date() < self.not_before
            if is_early or row is None or row_views.parse_request(row).status != "approved":
                return change.step
        return None

    def allowance(self) -> Allowance:
        """Return the columns that may change."""
        return Allowance(row_views.DATAHUB, "vendors", changed_keys([self.vendor_id]), frozenset(self.columns))


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordGoal:
    """Required final state of a record; fields that are not named must not change.

    `fields` are set within the record's own; `reference_field` is the one that names the approval.
    """

    record_id: str
    state: str | None = None
    ends_on: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    reference_field: str | None = None
    do_fields_need_approval: bool = False
    """Whether the fields, too, are set only once the request is approved."""

    def is_met(self, evidence: Evidence, request_id: str | None, *, step: int | None = None) -> bool:
        """Say whether the record is so, now or once a step had been taken."""
        return self.mismatch(evidence, request_id, step=step) is None

    def mismatch(self, evidence: Evidence, request_id: str | None, *, step: int | None = None) -> Mismatch | None:
        """Return the first column or field that is not as it must be, None if all are."""
        first = evidence.row_at(row_views.DATAHUB, "records", self.record_id, 0)
        expected = {"id": self.record_id} if first is None else self._expected(first, request_id)
        row_key = (row_views.DATAHUB, "records", self.record_id)
        return find_row_mismatch(evidence, *row_key, expected, step=step)

    @property
    def row_path(self) -> str:
        """The record."""
        return row_path(row_views.DATAHUB, "records", self.record_id)

    def _expected(self, first: Mapping[str, Any], request_id: str | None) -> dict[str, Any]:
        """Return the columns that the record must have, given those that it had at the start."""
        reference = {} if self.reference_field is None else {self.reference_field: request_id}
        return {
            "state": self.state or first["state"],
            "ends_on": self.ends_on or first["ends_on"],
            "fields": {**first["fields"], **self.fields, **reference},
        }

    def premature_step(self, evidence: Evidence, request_id: str) -> int | None:
        """Return the step that brought the record into its state before the request was approved, None if none."""
        for change in evidence.row_changes(row_views.DATAHUB, "records", self.record_id):
            if not self._is_gated_change(change.before, change.after):
                continue
            request = evidence.row_at(row_views.APPROVALFLOW, "requests", request_id, change.step)
            if request is None or row_views.parse_request(request).status != "approved":
                return change.step
        return None

    def allowance(self) -> Allowance:
        """Return what of the record may change on the way."""
        columns = {"fields"} if self.fields or self.reference_field else set()
        columns |= {"state"} if self.state else set()
        columns |= {"ends_on"} if self.ends_on else set()
        return Allowance(row_views.DATAHUB, "records", changed_keys([self.record_id]), frozenset(columns))

    def _is_gated_change(self, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> bool:
        """Say whether a change touched what only an approval allows: state, end and reference, and fields that wait."""
        if before is None or after is None:
            return True
        if self.do_fields_need_approval and any(
            before["fields"].get(name) != after["fields"].get(name) for name in self.fields
        ):
            return True
        names = [name for name in ("state", "ends_on") if getattr(self, name) is not None]
        is_changed = any(before[name] != after[name] for name in names)
        reference = self.reference_field
        return is_changed or (
            reference is not None and before["fields"].get(reference) != after["fields"].get(reference)
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class TicketResolved:
    """A ticket is resolved once the request is approved, unless a colleague resolves it anyway (`by_colleague`)."""

    key: str
    by_colleague: bool = False

    def is_met(self, evidence: Evidence, request_id: str | None, *, step: int | None = None) -> bool:
        """Say whether the ticket is resolved, now or once a step had been taken."""
        return self.mismatch(evidence, request_id, step=step) is None

    def mismatch(self, evidence: Evidence, request_id: str | None, *, step: int | None = None) -> Mismatch | None:
        """Return the status of the ticket if it is not resolved."""
        expected = {"status": "resolved"}
        return find_row_mismatch(evidence, row_views.TICKETDESK, "tickets", self.key, expected, step=step)

    def premature_step(self, evidence: Evidence, request_id: str) -> int | None:
        """Return the step that resolved the ticket before the request was approved, None if none did."""
        for change in evidence.row_changes(row_views.TICKETDESK, "tickets", self.key):
            is_end = change.after is not None and change.after["status"] == "resolved"
            if is_end and change.cause is not None:
                request = evidence.row_at(row_views.APPROVALFLOW, "requests", request_id, change.step)
                if request is None or row_views.parse_request(request).status != "approved":
                    return change.step
        return None

    @property
    def row_path(self) -> str:
        """The ticket."""
        return row_path(row_views.TICKETDESK, "tickets", self.key)

    def allowance(self) -> Allowance:
        """Return the status, unless a colleague changes it."""
        keys = [] if self.by_colleague else [self.key]
        return Allowance(row_views.TICKETDESK, "tickets", changed_keys(keys), frozenset({"status"}))


def source_once_record_holds(
    record_id: str, expected: Mapping[str, Any], allowed_value: str | int | bool
) -> FieldSource:
    """Return the value that may be given once the record holds the wanted fields; before, nothing agrees with it."""

    def value(evidence: Evidence, step: int) -> Any:
        row = evidence.row_at(row_views.DATAHUB, "records", record_id, step)
        held: Mapping[str, Any] = {} if row is None else row["fields"]
        return (
            allowed_value if all(is_equivalent(held.get(name), one) for name, one in expected.items()) else _UNMATCHABLE
        )

    return value


class _Unmatchable:
    """Sentinel that equals no value."""

    def __str__(self) -> str:
        return "no value before the record is corrected"


_UNMATCHABLE = _Unmatchable()
