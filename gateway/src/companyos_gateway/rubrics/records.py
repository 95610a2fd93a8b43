"""Records that a task brings to a wanted state: what they must hold, and that they held it only once it was allowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from companyos_gateway.rubrics import facts
from companyos_gateway.rubrics.boundaries import Allowance, changed_keys
from companyos_gateway.rubrics.evidence import Evidence, is_same_given
from companyos_gateway.rubrics.requests import FieldRecord


@dataclass(frozen=True, kw_only=True)
class RecordGoal:
    """How a record must be at the end. What is not named stays what it was.

    `fields` are set within the record's own; `reference_field` is the one that names the approval.
    """

    record_id: str
    state: str | None = None
    ends_on: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    reference_field: str | None = None
    do_fields_wait: bool = False
    """Whether the fields, too, are set only once the request is approved."""

    def is_met(self, evidence: Evidence, request_id: str | None, *, step: int | None = None) -> bool:
        """Say whether the record is so, now or once a step had been taken."""
        place = (facts.DATAHUB, "records", self.record_id)
        first, row = evidence.row_at(*place, 0), evidence.row(*place)
        row = row if step is None else evidence.row_at(*place, step)
        if first is None or row is None:
            return False
        wanted = {**first["fields"], **self.fields}
        if self.reference_field is not None:
            wanted[self.reference_field] = request_id
        found: Mapping[str, Any] = row["fields"]
        return (
            row["state"] == (self.state or first["state"])
            and row["ends_on"] == (self.ends_on or first["ends_on"])
            and found.keys() == wanted.keys()
            and all(is_same_given(found[name], value) for name, value in wanted.items())
        )

    def is_premature(self, evidence: Evidence, request_id: str) -> bool:
        """Say whether the record was brought into its state before the request was approved."""
        for change in evidence.row_changes(facts.DATAHUB, "records", self.record_id):
            if not self._is_moved(change.before, change.after):
                continue
            request = evidence.row_at(facts.APPROVALFLOW, "requests", request_id, change.step)
            if request is None or facts.request(request).status != "approved":
                return True
        return False

    def allowance(self) -> Allowance:
        """Return what of the record may change on the way."""
        columns = {"fields"} if self.fields or self.reference_field else set()
        columns |= {"state"} if self.state else set()
        columns |= {"ends_on"} if self.ends_on else set()
        return Allowance(facts.DATAHUB, "records", changed_keys([self.record_id]), frozenset(columns))

    def _is_moved(self, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> bool:
        """Say whether a change touched what only an approval allows: state, end and reference, and fields that wait."""
        if before is None or after is None:
            return True
        if self.do_fields_wait and any(before["fields"].get(name) != after["fields"].get(name) for name in self.fields):
            return True
        names = [name for name in ("state", "ends_on") if getattr(self, name) is not None]
        moved = any(before[name] != after[name] for name in names)
        reference = self.reference_field
        return moved or (reference is not None and before["fields"].get(reference) != after["fields"].get(reference))


def once_held(record_id: str, wanted: Mapping[str, Any], given: str | int | bool) -> FieldRecord:
    """Return the value that may be given once the record holds the wanted fields; before, nothing agrees with it."""

    def value(evidence: Evidence, step: int) -> Any:
        row = evidence.row_at(facts.DATAHUB, "records", record_id, step)
        held: Mapping[str, Any] = {} if row is None else row["fields"]
        return given if all(is_same_given(held.get(name), one) for name, one in wanted.items()) else _NOTHING

    return value


def was_looked_at(evidence: Evidence, service: str, operation: str, *, before_step: int, **arguments: Any) -> bool:
    """Say whether the agent made a read that succeeded, with these arguments, before a step."""
    return any(
        line.operation == operation
        and line.status < facts.FIRST_REFUSAL
        and line.step < before_step
        and arguments.items() <= line.arguments.items()
        for line in evidence.audits(service)
    )


class _Nothing:
    """What equals no value."""


_NOTHING = _Nothing()
