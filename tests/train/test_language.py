"""Short names: the input of a tiny model, and the meaning of its output."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from companyos.integrations.trl.language import Language, ShortNames
from companyos.policies import StepView


def step(result: Any, *, done: bool = False, error: str | None = None) -> StepView:
    now = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
    return StepView(result=result, error=error, reward=0.5, done=done, now=now, steps_left=9)


def test_ids_and_figures_are_named_after_the_field_of_their_first_occurrence() -> None:
    names = ShortNames()
    assert names.task("See to PLT-17, says E-4.") == "See to #task1, says #task2."
    output = names.answer(step({"key": "PLT-17", "value": 37.5, "as_of": "2026-11-20T09:00:00Z", "title": "Left out"}))
    assert json.loads(output) == {"key": "#task1", "value": "#value1", "as_of": "#as_of1"}


def test_an_id_is_named_after_the_kind_of_its_object() -> None:
    names = ShortNames()
    output = names.answer(step({"id": "A-1", "checklist": [{"id": "C-1"}, {"id": "C-2"}], "person": {"id": "E-4"}}))
    assert json.loads(output) == {
        "id": "#id1",
        "checklist": [{"id": "#checklist1"}, {"id": "#checklist2"}],
        "person": {"id": "#person1"},
    }


def test_references_of_a_row_are_included_and_can_be_looked_up() -> None:
    names = ShortNames()
    output = names.answer(step({"key": "escalation", "policy_ref": "POL-4", "readings": [{"source_id": "SRC-7"}]}))
    assert json.loads(output) == {
        "key": "escalation",
        "policy_ref": "#policy_ref1",
        "readings": [{"source_id": "#source_id1"}],
    }
    assert json.loads(names.answer(step({"id": "SRC-7", "assignee_id": "E-4"}))) == {
        "id": "#source_id1",
        "assignee_id": "#assignee_id1",
    }


def test_quoted_names_in_a_result_have_short_names() -> None:
    names = ShortNames()
    output = names.answer(step({"description": 'Services "search" and "ledger-sync" are affected.'}))
    assert json.loads(output) == {"description": 'Services "#description1" and "#description2" are affected.'}
    assert names.encoded({"query": "Runbook: ledger-sync"}) == {"query": "Runbook: #description2"}
    assert names.decoded({"query": "Runbook: #description2"}) == {"query": "Runbook: ledger-sync"}


def test_a_form_is_shortened_to_its_required_fields() -> None:
    fields = [{"name": "service", "required": True}, {"name": "note", "required": False}]
    assert json.loads(ShortNames().answer(step({"key": "escalation", "fields": fields}))) == {
        "key": "escalation",
        "fields": ["service"],
    }


def test_an_error_message_is_unchanged() -> None:
    assert json.loads(ShortNames().answer(step({}, error='"rate" is not a known field'))) == {
        "error": '"rate" is not a known field'
    }


def test_short_names_in_arguments_are_decoded_to_the_original_values() -> None:
    names = ShortNames()
    names.task("See to PLT-17.")
    names.answer(step({"value": 37.5, "as_of": "2026-11-20T09:00:00Z"}))
    fields = {"rate": "#value1", "at": "#as_of1"}
    encoded = {"key": "#task1", "fields": fields, "reason": "as #task1 says", "minutes": 60, "who": "#id99"}
    assert names.decoded(encoded) == {
        "key": "PLT-17",
        "fields": {"rate": 37.5, "at": "2026-11-20T09:00:00Z"},
        "reason": "as PLT-17 says",
        "minutes": 60,
        "who": "#id99",
    }


def test_arguments_of_the_oracle_are_encoded_with_short_names() -> None:
    names = ShortNames()
    names.task("See to PLT-17.")
    names.answer(step({"value": 37.0, "as_of": "2026-11-20T09:00:00Z"}))
    arguments = {"key": "PLT-17", "rate": 37.0, "at": "2026-11-20T09:00:00+00:00", "minutes": 1440}
    assert names.encoded(arguments) == {"key": "#task1", "rate": "#value1", "at": "#as_of1", "minutes": 1440}


def test_a_new_task_resets_the_short_names() -> None:
    names = ShortNames()
    names.task("See to PLT-17.")
    assert names.task("See to OPS-5.") == "See to #task1."
    assert names.decoded({"key": "#task1"}) == {"key": "OPS-5"}


def test_the_last_response_is_marked_as_done() -> None:
    assert json.loads(ShortNames().answer(step({}, done=True))) == {"done": True}
    assert json.loads(Language().answer(step({"key": "PLT-17"}, done=True)))["done"]


def test_no_language_shows_the_reward() -> None:
    assert "0.5" not in Language().answer(step({"key": "PLT-17"}))
    assert "0.5" not in ShortNames().answer(step({"key": "PLT-17"}))
