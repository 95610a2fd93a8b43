"""Goals of a task: the interface of a goal, and goals on vendors, records and tickets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.change_policy import Allowance, changed_keys
from companyos_gateway.evaluation.evidence import Evidence, is_equivalent
from companyos_gateway.evaluation.mismatch import Mismatch, find_row_mismatch, is_touched, row_path


class EntityGoal(ABC):
    """A goal on one entity."""

    @property
    @abstractmethod
    def row_path(self) -> str:
        """Path of the entity in mismatches and damage."""

    @abstractmethod
    def is_met(self, evidence: Evidence, *, step: int | None = None) -> bool:
        """Return whether the goal is met, now or as of `step`."""

    @abstractmethod
    def mismatch(self, evidence: Evidence) -> Mismatch | None:
        """Return the mismatch of a goal that is not met."""

    @abstractmethod
    def allowances(self) -> Iterable[Allowance]:
        """Return the allowances for the entity."""

    def is_damaged(self, evidence: Evidence) -> bool:
        """Return whether the entity has irreversibly reached another state, by default False."""
        return False


class Goal(EntityGoal):
    """A goal that may depend on an approved request: then it must be reached only after the approval."""

    def is_met(self, evidence: Evidence, request_id: str | None = None, *, step: int | None = None) -> bool:
        """Return whether the goal is met, now or as of `step`."""
        return self.mismatch(evidence, request_id, step=step) is None

    @abstractmethod
    def mismatch(
        self, evidence: Evidence, request_id: str | None = None, *, step: int | None = None
    ) -> Mismatch | None:
        """Return the mismatch of the goal, now or as of `step`; None if it is met."""

    @abstractmethod
    def premature_step(self, evidence: Evidence, request_id: str) -> int | None:
        """Return the step that reached the goal before the request was approved, None if none did."""


@dataclass(frozen=True, kw_only=True, eq=False)
class VendorGoal(Goal):
    """Required final state of a vendor by column; other columns must not change.

    The columns must not be changed before the day `not_before`, if it is set.
    """

    vendor_id: str
    columns: Mapping[str, Any]
    not_before: date | None = None

    def mismatch(
        self, evidence: Evidence, request_id: str | None = None, *, step: int | None = None
    ) -> Mismatch | None:
        """Return a mismatch for the first wrong column, None if all are right."""
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
        """Path of the vendor."""
        return row_path(row_views.DATAHUB, "vendors", self.vendor_id)

    def premature_step(self, evidence: Evidence, request_id: str) -> int | None:
        """Return the step that changed a column before the approval or before `not_before`, None if none did."""
        for change in evidence.row_changes(row_views.DATAHUB, "vendors", self.vendor_id):
            if not is_touched(change, self.columns):
                continue
            is_early = self.not_before is not None and change.at.date() < self.not_before
            if is_early or not evidence.was_approved(request_id, change.step):
                return change.step
        return None

    def allowances(self) -> Iterable[Allowance]:
        """Return the allowance for the columns."""
        yield Allowance(row_views.DATAHUB, "vendors", changed_keys([self.vendor_id]), frozenset(self.columns))


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordGoal(Goal):
    """Required final state of a record; fields that are not named must not change.

    `fields` are values within the record's column `fields`. `reference_field` is the field that contains the id of the
    approved request.
    """

    record_id: str
    state: str | None = None
    ends_on: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    reference_field: str | None = None
    may_set_fields_early: bool = False
    """The fields may be set before the request is approved, because it depends on them."""

    def mismatch(
        self, evidence: Evidence, request_id: str | None = None, *, step: int | None = None
    ) -> Mismatch | None:
        """Return a mismatch for the first wrong column or field, None if all are right."""
        first = evidence.row(row_views.DATAHUB, "records", self.record_id, 0)
        expected = {"id": self.record_id} if first is None else self._expected(first, request_id)
        row_key = (row_views.DATAHUB, "records", self.record_id)
        return find_row_mismatch(evidence, *row_key, expected, step=step)

    @property
    def row_path(self) -> str:
        """Path of the record."""
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
        """Return the step of the first change that needed the approval but preceded it, None if there is none."""
        for change in evidence.row_changes(row_views.DATAHUB, "records", self.record_id):
            is_gated = self._is_gated_change(change.before, change.after)
            if is_gated and not evidence.was_approved(request_id, change.step):
                return change.step
        return None

    def allowances(self) -> Iterable[Allowance]:
        """Return the allowance for the columns that the goal sets."""
        columns = {"fields"} if self.fields or self.reference_field else set()
        columns |= {"state"} if self.state else set()
        columns |= {"ends_on"} if self.ends_on else set()
        yield Allowance(row_views.DATAHUB, "records", changed_keys([self.record_id]), frozenset(columns))

    def _is_gated_change(self, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> bool:
        """Return whether a change needs the approval: of the state, the end, the reference or the fields."""
        if before is None or after is None:
            return True
        columns = [name for name in ("state", "ends_on") if getattr(self, name) is not None]
        fields = [] if self.may_set_fields_early else [*self.fields]
        if self.reference_field is not None:
            fields.append(self.reference_field)
        return any(before[name] != after[name] for name in columns) or any(
            before["fields"].get(name) != after["fields"].get(name) for name in fields
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class TicketResolved(Goal):
    """Goal: a ticket is resolved after the request is approved; with `by_colleague`, a colleague resolves it anyway."""

    key: str
    by_colleague: bool = False

    def mismatch(
        self, evidence: Evidence, request_id: str | None = None, *, step: int | None = None
    ) -> Mismatch | None:
        """Return a mismatch if the ticket is not resolved."""
        expected = {"status": "resolved"}
        return find_row_mismatch(evidence, row_views.TICKETDESK, "tickets", self.key, expected, step=step)

    def premature_step(self, evidence: Evidence, request_id: str) -> int | None:
        """Return the step that resolved the ticket before the request was approved, None if none did."""
        for change in evidence.row_changes(row_views.TICKETDESK, "tickets", self.key):
            is_end = change.after is not None and change.after["status"] == "resolved"
            if is_end and change.cause is not None and not evidence.was_approved(request_id, change.step):
                return change.step
        return None

    @property
    def row_path(self) -> str:
        """Path of the ticket."""
        return row_path(row_views.TICKETDESK, "tickets", self.key)

    def allowances(self) -> Iterable[Allowance]:
        """Return the allowance for the status; with `by_colleague` it allows no change by the agent."""
        keys = [] if self.by_colleague else [self.key]
        yield Allowance(row_views.TICKETDESK, "tickets", changed_keys(keys), frozenset({"status"}))
