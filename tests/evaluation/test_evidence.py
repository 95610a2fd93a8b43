"""Evidence: overlaid rows, attributed changes, folded digests."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from companyos_gateway.evaluation import Evidence
from companyos_gateway.evaluation.evidence import same_value
from companyos_shared.streams import digest
from companyos_shared.wire.control import Report
from tests.evaluation.evidence_builder import NOW, EvidenceBuilder, audit

NOTES = {"notes": {"1": {"id": "1", "text": "water", "done": False}, "2": {"id": "2", "text": "call", "done": False}}}


def _builder() -> EvidenceBuilder:
    return EvidenceBuilder(desk=json.loads(json.dumps(NOTES)))


def _net(evidence: Evidence) -> dict[str, tuple[bool, bool, frozenset[str]]]:
    return {change.key: (change.added, change.deleted, change.columns) for change in evidence.agent_changes()}


def test_a_row_has_the_values_of_its_last_change() -> None:
    builder = _builder()
    builder.put("desk", "notes", "1", done=True)
    builder.put("desk", "notes", "3", id="3", text="new")
    builder.drop("desk", "notes", "2")
    assert builder.evidence.row("desk", "notes", "1") == {"id": "1", "text": "water", "done": True}
    assert builder.evidence.row("desk", "notes", "2") is None
    assert list(builder.evidence.table("desk", "notes")) == ["1", "3"]


def test_evidence_is_freed_with_its_last_reference_and_not_by_the_garbage_collector() -> None:
    builder = _builder()
    builder.put("desk", "notes", "1", done=True)
    builder.evidence.add_view(1, [{"id": "1"}])
    assert builder.evidence.knew("1", before=9)
    assert builder.evidence.agent_changes()
    kept = weakref.ref(builder.evidence)
    gc.disable()
    try:
        del builder
        assert kept() is None
    finally:
        gc.enable()


def test_the_initial_rows_are_not_modified() -> None:
    initial = json.loads(json.dumps(NOTES))
    builder = EvidenceBuilder(desk=initial)
    builder.put("desk", "notes", "1", done=True)
    builder.drop("desk", "notes", "2")
    assert initial == NOTES


def test_a_row_can_be_read_as_of_a_step() -> None:
    builder = _builder()
    builder.put("desk", "notes", "1", text="first")
    builder.put("desk", "notes", "1", text="second")
    texts = [builder.evidence.row("desk", "notes", "1", step) for step in (0, 1, 2, 9)]
    assert [row and row["text"] for row in texts] == ["water", "first", "second", "second"]


def test_an_undone_change_of_the_agent_does_not_count() -> None:
    builder = _builder()
    builder.put("desk", "notes", "1", done=True)
    builder.put("desk", "notes", "2", text="else")
    builder.put("desk", "notes", "2", text="call")
    assert _net(builder.evidence) == {"1": (False, False, frozenset({"done"}))}


def test_an_added_row_that_is_deleted_again_does_not_count() -> None:
    builder = _builder()
    builder.put("desk", "notes", "3", id="3", text="new")
    builder.drop("desk", "notes", "3")
    assert not _net(builder.evidence)


def test_a_deleted_row_changes_all_its_columns() -> None:
    builder = _builder()
    builder.drop("desk", "notes", "1")
    assert _net(builder.evidence) == {"1": (False, True, frozenset({"id", "text", "done"}))}


def test_a_change_by_the_clock_counts_only_if_a_call_of_the_agent_caused_it() -> None:
    builder = _builder()
    builder.put_by_clock("desk", "notes", "1", done=True)
    assert not _net(builder.evidence)
    builder.put_by_clock("desk", "notes", "2", cause="e:1:4", done=True)
    assert set(_net(builder.evidence)) == {"2"}


def test_earlier_changes_by_the_clock_are_not_attributed_to_the_agent() -> None:
    builder = _builder()
    builder.put_by_clock("desk", "notes", "1", text="by a colleague")
    builder.put("desk", "notes", "1", done=True)
    assert _net(builder.evidence) == {"1": (False, False, frozenset({"done"}))}


def test_a_report_that_is_recorded_twice_counts_once() -> None:
    builder = _builder()
    change = builder.put("desk", "notes", "1", done=True)
    again = Report(changes=[change], audit=audit(3))
    builder.evidence.record("desk", again)
    builder.evidence.record("desk", again)
    assert len(builder.evidence.changes("desk")) == 1
    assert len(builder.evidence.audits("desk")) == 1


def test_the_digest_covers_the_current_rows() -> None:
    builder = EvidenceBuilder(desk={**NOTES, "empty": {}})
    assert builder.evidence.fold_digest("desk") == digest({**NOTES, "empty": {}})
    builder.put("desk", "notes", "1", done=True)
    builder.drop("desk", "notes", "2")
    builder.put("desk", "empty", "9", id="9")
    after = {"notes": {"1": {"id": "1", "text": "water", "done": True}}, "empty": {"9": {"id": "9"}}}
    assert builder.evidence.fold_digest("desk") == digest(after)


def test_evidence_round_trips_through_json() -> None:
    builder = _builder()
    builder.put("desk", "notes", "1", done=True)
    builder.put_by_clock("desk", "notes", "2", done=True)
    builder.evidence.record("desk", Report(audit=audit(7)))
    builder.evidence.declared_at = datetime(2026, 3, 2, 9, 15, tzinfo=UTC)
    stored = json.loads(json.dumps(builder.evidence.as_json()))
    back = Evidence.from_json(stored)
    assert back.as_json() == builder.evidence.as_json()
    assert back.declared_at == builder.evidence.declared_at
    assert _net(back) == _net(builder.evidence)
    assert back.fold_digest("desk") == builder.evidence.fold_digest("desk")


def test_numbers_are_compared_by_value_and_booleans_are_not_numbers() -> None:
    assert same_value(85, 85.0)
    assert not same_value(1, True)
    assert not same_value("85", 85)
    assert same_value(None, None)


Writes = st.lists(st.tuples(st.sampled_from("123"), st.none() | st.integers(0, 3), st.booleans()), max_size=12)


@settings(suppress_health_check=[HealthCheck.too_slow])  # the machine may be busy
@given(Writes)
def test_net_changes_are_the_difference_between_first_and_last_state(
    writes: list[tuple[str, int | None, bool]],
) -> None:
    first: dict[str, dict[str, Any]] = {"1": {"v": 0}, "2": {"v": 1}}
    builder = EvidenceBuilder(desk={"notes": first})
    for key, value, _ in writes:
        if value is None and builder.evidence.row("desk", "notes", key) is None:
            continue
        if value is None:
            builder.drop("desk", "notes", key)
        else:
            builder.put("desk", "notes", key, v=value)
    last = builder.evidence.table("desk", "notes")
    differing = {key for key in {*first, *last} if first.get(key) != last.get(key)}
    assert {change.key for change in builder.evidence.agent_changes()} == differing


@pytest.mark.parametrize(
    ("read", "write", "is_computed_again"),
    [
        (lambda evidence: evidence.row("desk", "notes", "1"), ("notes", "1"), True),
        (lambda evidence: evidence.row("desk", "notes", "1"), ("notes", "2"), False),
        (lambda evidence: evidence.table("desk", "notes"), ("notes", "2"), True),
        (lambda evidence: evidence.table("desk", "notes"), ("links", "2"), False),
        (lambda evidence: evidence.agent_changes(), ("links", "2"), True),
        (lambda evidence: evidence.changes("desk"), ("links", "2"), True),
        (lambda evidence: evidence.memoize("inner", lambda: evidence.row("desk", "notes", "1")), ("notes", "1"), True),
        (lambda evidence: evidence.audits("desk"), ("notes", "1"), False),
        (lambda evidence: evidence.knew("2", before=9), ("notes", "1"), False),
    ],
)
def test_a_memoized_value_is_recomputed_only_when_its_inputs_change(
    read: Callable[[Evidence], Any], write: tuple[str, str], is_computed_again: bool
) -> None:
    builder, computed = _builder(), []
    builder.put("desk", "notes", "1", text="first")
    for _ in range(2):
        builder.evidence.memoize("outer", lambda: computed.append(read(builder.evidence)))
    assert len(computed) == 1
    builder.put("desk", *write, text="second")
    builder.evidence.memoize("outer", lambda: computed.append(read(builder.evidence)))
    assert len(computed) == 1 + is_computed_again


def test_calls_views_and_the_declaration_invalidate_memoized_values() -> None:
    evidence = _builder().evidence
    records: list[tuple[Callable[[], Any], Callable[[], Any]]] = [
        (lambda: len(evidence.audits("desk")), lambda: evidence.record("desk", Report(audit=audit(1)))),
        (
            lambda: len(evidence.refused_calls("desk")),
            lambda: evidence.record("desk", Report(audit=audit(2, status=409))),
        ),
        (lambda: evidence.knew("1", before=9), lambda: evidence.add_view(3, [{"id": "1"}])),
        (lambda: evidence.declared_at, lambda: setattr(evidence, "declared_at", NOW)),
    ]
    for number, (read, write) in enumerate(records):
        before = evidence.memoize(number, read)
        write()
        assert evidence.memoize(number, read) == read() != before
