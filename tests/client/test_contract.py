"""The contract: each side can read data that the other one writes, and the documents name its fields."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from companyos.contract import CompanyOSState, EpisodeRecord, Outcome, ResetOptions
from companyos.runner.episode import StepLine
from tests.architecture.sources import ROOT
from tests.client.builders import a_record


def test_the_state_uses_the_alias_return_in_json() -> None:
    state = CompanyOSState(episode_id="a", step_count=3, return_=12.5, outcome=Outcome.SUCCESS)
    written = state.model_dump()
    assert written["return"] == 12.5
    assert CompanyOSState.model_validate(written) == state


def test_an_episode_record_has_exactly_the_documented_fields_in_order() -> None:
    record = a_record()
    fields = ["scenario", "seed", "chaos", "policy", "success", "return", "steps", "outcome", "digest"]
    fields += ["verdict", "injections", "task_id", "task_set", "trouble", "usage", "trial", "chaos_overrides"]
    assert list(record.model_dump(mode="json")) == fields
    assert EpisodeRecord.model_validate_json(record.model_dump_json()) == record


@pytest.mark.parametrize(
    "options",
    [
        {"episode_id": ".."},
        {"seed": -7},
        {"seed": "abc"},
        {"seed": 1.0},
        {"seed": True},
        {"seed": [7]},
        {"seed": 2**53},
        {"chaos": 9},
        {"chaos": -1},
        {"chaos": 0.5},
        {"chaos": "1"},
        {"scenario": 7},
        {"unknown": 1},
    ],
)
def test_reset_options_reject_invalid_values(options: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ResetOptions.model_validate(options)


def test_reset_options_accept_enums_by_value() -> None:
    assert ResetOptions.model_validate({"completion": "explicit", "reward_scale": "unit"}).seed is None


def test_the_page_on_evaluation_names_the_fields_of_stored_runs() -> None:
    page = (ROOT / "docs" / "evaluating.md").read_text(encoding="utf-8")
    record = ", ".join(field.alias or name for name, field in EpisodeRecord.model_fields.items())
    assert f"a line per episode: {record}" in page
    assert f"a line per step: {', '.join(StepLine.__dataclass_fields__)}" in page


def test_the_readme_of_the_client_names_every_reset_option() -> None:
    readme = (ROOT / "client" / "README.md").read_text(encoding="utf-8")
    assert [name for name in ResetOptions.model_fields if f"`{name}`" not in readme] == []
