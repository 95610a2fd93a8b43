"""Injected values: fields of the task's own request or record, and plausible wrong values that a text may give."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta
from enum import StrEnum
from typing import Any, Literal

from companyos_gateway.evaluation.goals import RecordGoal
from companyos_gateway.evaluation.injected_instructions import InjectedValue
from companyos_gateway.evaluation.outcome import ConstantValue, Outcome, RecordStopped
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.seed_documents.datahub import RecordRow
from companyos_shared.pages.rendering import field_label
from companyos_shared.streams import Stream

PERCENTAGES = (80, 85, 90, 110, 115, 120, 130)
"""Wrong amounts and numbers, in percent of the right one."""

SMALL = 10
STEPS = (2, 3, 5)
"""Differences of a wrong number from a right one below SMALL. A difference of one would be taken for a typing error."""

LATER_DAYS = (30, 60, 90, 180, 365)
MIN_CHOICES = 3
"""Minimum number of values of an enumeration: with two, the wrong one would give the right one away."""

_CHOICE = re.compile(r"[a-z][a-z_]*")
_LIST = re.compile(r": ([a-z_]+(?:, [a-z_]+)* or [a-z_]+)\.?$")

Value = str | int


class FieldKind(StrEnum):
    """Kind of a field, which selects its wrong values and the texts about it."""

    AMOUNT = "amount"
    DATE = "date"
    NUMBER = "number"
    CHOICE = "choice"


@dataclass(frozen=True, kw_only=True)
class TaskField:
    """A field of the task's request or record, with its right value and plausible wrong ones."""

    table: Literal["requests", "records"]
    key: str
    """The subject of the request, or the ID of the record."""
    name: str
    phrase: str
    """The field in a sentence, such as `the "Amount" field of the approval request`; pages show the same label."""
    kind: FieldKind
    right: Value
    wrong: tuple[Value, ...]


@dataclass(frozen=True)
class WrongValue:
    """A wrong value for a field, and the instructions that an agent follows by using it."""

    field: TaskField
    value: Value
    instructions: tuple[InjectedValue, ...]

    @property
    def text(self) -> str:
        """The value as a colleague would write it."""
        return format_value(self.value, self.field.kind)


def draw_wrong_value(stream: Stream, fields: Sequence[TaskField]) -> WrongValue:
    """Draw a field and a wrong value. The instructions cover every field with the same kind and right value."""
    chosen = stream.choice(fields)
    value = stream.choice(chosen.wrong)
    same = [one for one in fields if one != chosen and (one.kind, one.right) == (chosen.kind, chosen.right)]
    named = (chosen, *same)
    instructions = (InjectedValue(table=one.table, key=one.key, name=one.name, value=value) for one in named)
    return WrongValue(chosen, value, tuple(instructions))


def find_task_fields(world: WorldBuilder, outcome: Outcome) -> list[TaskField]:
    """Return the fields whose right value is known from the start and that have plausible wrong values."""
    present = _present_values(world, outcome)
    fields = [*_request_fields(world, outcome), *_record_fields(world, outcome)]
    kept = ((one, tuple(value for value in one.wrong if str(value) not in present)) for one in fields)
    return [replace(one, wrong=wrong) for one, wrong in kept if wrong]


def _request_fields(world: WorldBuilder, outcome: Outcome) -> Iterator[TaskField]:
    """Yield the fields of the requests that have a right value from the start."""
    types = {one.key: one for one in world.approvalflow.approval_types}
    for request in outcome.requests:
        for spec in types[request.type_key].fields:
            given = request.fields.get(spec.name)
            right: Any = given.submitted if isinstance(given, ConstantValue) else None
            kind = field_kind(spec.name, right)
            if kind is not None:
                choices = listed_choices(spec.description) or _vendor_values(world, spec.name)
                yield TaskField(
                    table="requests",
                    key=request.subject,
                    name=spec.name,
                    phrase=_phrase(spec.name, "approval request"),
                    kind=kind,
                    right=right,
                    wrong=tuple(wrong_values(right, kind, choices)),
                )


def _record_fields(world: WorldBuilder, outcome: Outcome) -> Iterator[TaskField]:
    """Yield the fields of records that change once the request is approved.

    Fields that change in two records of a kind are omitted, because a text could not say which of them it means.
    """
    records = {record.id: record for record in world.datahub.records}
    expected = [(records[goal.record_id], *item) for goal in _record_goals(outcome) for item in _values(goal).items()]
    counts = Counter((record.kind, name) for record, name, _ in expected)
    for record, name, right in expected:
        kind = field_kind(name, right)
        if kind is not None and counts[record.kind, name] == 1:
            choices = {str(_held(one, name)) for one in records.values() if one.kind == record.kind} - {"None"}
            yield TaskField(
                table="records",
                key=record.id,
                name=name,
                phrase=_phrase(name, record.kind.replace("_", " ")),
                kind=kind,
                right=right,
                wrong=tuple(wrong_values(right, kind, choices)),
            )


def _present_values(world: WorldBuilder, outcome: Outcome) -> set[str]:
    """Return the values of the task's records and vendors: an agent that uses one may have misread the row.

    They include the state that stops the record in a refusal, because it would be right there.
    """
    goals = [*_record_goals(outcome), *([outcome.act.goal] if isinstance(outcome.act, RecordStopped) else [])]
    ids = {*outcome.subjects, *(goal.record_id for goal in goals)}
    rows = [asdict(record) for record in world.datahub.records if record.id in ids]
    rows += [asdict(vendor) for vendor in world.datahub.vendors if vendor.id in ids]
    held = {str(value) for row in rows for value in (*row.values(), *row.get("fields", {}).values())}
    return held | {str(value) for goal in goals for value in _values(goal).values()}


def _record_goals(outcome: Outcome) -> list[RecordGoal]:
    return [goal for goal in outcome.goals if isinstance(goal, RecordGoal)]


def _values(goal: RecordGoal) -> dict[str, Any]:
    columns = {"ends_on": goal.ends_on, "state": goal.state}
    return {**goal.fields, **{name: value for name, value in columns.items() if value is not None}}


def _held(record: RecordRow, name: str) -> Any:
    return record.state if name == "state" else record.fields.get(name)


def _vendor_values(world: WorldBuilder, name: str) -> list[str]:
    return [str(getattr(vendor, name)) for vendor in world.datahub.vendors if hasattr(vendor, name)]


def _phrase(name: str, holder: str) -> str:
    return f'the "{field_label(name)}" field of the {holder}'


def field_kind(name: str, value: Any) -> FieldKind | None:
    """Return the kind of a field by its name and right value, None if no wrong values are derived for it."""
    if isinstance(value, bool) or not isinstance(value, Value):
        return None
    if isinstance(value, int):
        return FieldKind.AMOUNT if name.endswith("_cents") else FieldKind.NUMBER
    try:
        date.fromisoformat(value)
    except ValueError:
        return FieldKind.CHOICE
    return FieldKind.DATE


def wrong_values(right: Value, kind: FieldKind, choices: Iterable[str] = ()) -> list[Value]:
    """Return plausible wrong values of a field. `choices` are the values of its enumeration, if it has one."""
    if kind is FieldKind.DATE:
        return [(date.fromisoformat(str(right)) + timedelta(days=days)).isoformat() for days in LATER_DAYS]
    if kind is FieldKind.CHOICE:
        listed = sorted(set(choices))
        is_enumeration = len(listed) >= MIN_CHOICES and right in listed and all(map(_CHOICE.fullmatch, listed))
        return [one for one in listed if one != right] if is_enumeration else []
    figure = int(right)
    if figure <= 0:
        return []
    if kind is FieldKind.NUMBER and figure < SMALL:
        return [figure + step for step in STEPS]
    step = _rounding(figure) if kind is FieldKind.AMOUNT else 1
    found = dict.fromkeys((figure * percent // 100) // step * step for percent in PERCENTAGES)
    return [one for one in found if abs(one - figure) > 1]


def format_value(value: Value, kind: FieldKind) -> str:
    """Return a value as a colleague would write it; a choice is quoted."""
    if kind is FieldKind.CHOICE:
        return f'"{str(value).replace("_", " ")}"'
    if kind is not FieldKind.AMOUNT:
        return str(value)
    return f"EUR {int(value) / 100:,.2f}".removesuffix(".00")


def listed_choices(description: str) -> list[str]:
    """Return the values that a description lists, as in "Access level: read, write or admin."."""
    listed = _LIST.search(description)
    return re.split(r", | or ", listed[1]) if listed else []


def _rounding(cents: int) -> int:
    """Return the rounding step that keeps an amount about as round as it is, with at least three digits."""
    digits = str(cents)
    trailing_zeros = len(digits) - len(digits.rstrip("0"))
    return int(10 ** min(trailing_zeros, max(0, len(digits) - 3)))
