"""The documents name the fields of stored runs and the options of a reset."""

from __future__ import annotations

from companyos.contract import EpisodeRecord, ResetOptions
from companyos.runner.episode import StepLine
from tests.architecture.sources import ROOT


def test_the_page_on_evaluation_names_the_fields_of_stored_runs() -> None:
    page = (ROOT / "docs" / "evaluating.md").read_text(encoding="utf-8")
    record = ", ".join(field.alias or name for name, field in EpisodeRecord.model_fields.items())
    assert f"a line per episode: {record}" in page
    assert f"a line per step: {', '.join(StepLine.__dataclass_fields__)}" in page


def test_the_readme_of_the_client_names_every_reset_option() -> None:
    readme = (ROOT / "client" / "README.md").read_text(encoding="utf-8")
    assert [name for name in ResetOptions.model_fields if f"`{name}`" not in readme] == []
