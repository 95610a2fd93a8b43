"""Knowledge: the entities that the agent has seen, and when."""

from __future__ import annotations

import json
from typing import Any

import pytest

from companyos_gateway.evaluation import Evidence
from companyos_gateway.evaluation.facts import declaration_of, outsider_shown
from companyos_shared.wire.control import Report
from tests.evaluation.evidence_builder import NOW, EvidenceBuilder, audit

PAGE = {"items": [{"key": "OPS-1", "status": "open"}, {"key": "OPS-2", "status": "resolved"}], "total": 2}
TICKET = {
    "key": "OPS-1",
    "status": "blocked",
    "links": [{"id": "L-1", "key": "OPS-7", "status": "open"}],
    "description": "See OPS-3.",
}


def _seen(response: Any, *, status: int = 200, **arguments: Any) -> Evidence:
    evidence = Evidence({})
    evidence.record("desk", Report(audit=audit(3, arguments=arguments, status=status)), response)
    return evidence


def test_a_row_of_a_list_is_known_only_after_its_step() -> None:
    evidence = _seen(PAGE)
    assert evidence.knew("OPS-2", "status", before=4)
    assert evidence.knew("OPS-2", before=4, status="resolved")
    assert not evidence.knew("OPS-2", "status", before=3)


@pytest.mark.parametrize(
    ("entity", "columns", "values"),
    [
        ("OPS-1", ("description",), {}),
        ("OPS-1", (), {"status": "resolved"}),
        ("OPS-3", (), {}),
    ],
)
def test_values_that_no_response_contained_are_not_known(
    entity: str, columns: tuple[str, ...], values: dict[str, Any]
) -> None:
    assert not _seen(PAGE).knew(entity, *columns, before=4, **values)


def test_a_nested_object_is_known_by_its_own_id() -> None:
    evidence = _seen(TICKET, key="OPS-1")
    assert evidence.knew("L-1", before=9, key="OPS-7", status="open")
    assert not evidence.knew("OPS-3", before=9)


def test_an_object_without_an_id_belongs_to_the_entity_of_the_call() -> None:
    evidence = _seen({"items": [{"value": 3.0, "as_of": "2026-03-02T10:00:00Z"}]}, metric_id="MET-1")
    assert evidence.knew("MET-1", before=9, value=3, as_of=NOW)
    assert not evidence.knew("MET-1", before=9, value=True)


def test_columns_and_values_must_be_in_one_object() -> None:
    evidence = _seen([{"id": "V-1", "name": "A"}, {"id": "V-1", "status": "active"}])
    assert not evidence.knew("V-1", "name", before=9, status="active")


def test_a_failed_call_shows_nothing() -> None:
    assert not _seen(PAGE, status=404).knew("OPS-1", before=9)


def test_knowledge_round_trips_through_json() -> None:
    evidence = _seen(PAGE)
    stored = json.loads(json.dumps(evidence.as_json()))
    again = Evidence.from_json(stored)
    assert again.knew("OPS-2", before=4, status="resolved")
    assert again.as_json() == evidence.as_json()


@pytest.mark.parametrize(
    ("shown", "is_known"),
    [
        ([{"id": "E-1", "title": "Clerk"}], True),
        ([{"id": "E-2", "title": "Lead"}, {"id": "E-3", "title": "Lead"}], True),
        ([{"role": "team_lead", "holders": []}], True),
        ([{"id": "E-2", "title": "Lead"}], False),
        ([{"id": "E-1", "name": "Ana Costa"}], False),
        ([], False),
    ],
)
def test_a_person_is_known_as_an_outsider_by_their_title_or_by_those_of_all_members(
    shown: list[dict[str, Any]], *, is_known: bool
) -> None:
    evidence = EvidenceBuilder().evidence
    evidence.add_view(1, shown)
    evidence.declared_at = NOW
    moment = declaration_of(evidence)
    assert moment is not None
    assert outsider_shown("E-1", ("E-2", "E-3"), "team_lead").was_known(evidence, moment) is is_known
    assert not outsider_shown("E-1", ()).was_known(EvidenceBuilder().evidence, moment)
