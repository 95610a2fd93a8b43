"""A folder with a missing part or invalid texts is rejected with the file and the place."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import companyos_gateway.scenarios
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.catalogue import REQUIRED_FILES, ScenarioError, check_folder, scenario_folders

ROOT = Path(companyos_gateway.scenarios.__file__).parent


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(ROOT / "vendor_onboarding", tmp_path / "vendor_onboarding", ignore=ignored))


def _reword(folder: Path, old: str, new: str) -> None:
    file = folder / "texts.toml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_complete_folders_are_found_and_shared_ones_are_ignored(folder: Path) -> None:
    (folder.parent / "blocks").mkdir()
    (folder.parent / "__pycache__").mkdir()
    assert [found.name for found in scenario_folders(folder.parent)] == ["vendor_onboarding"]
    assert [found.name for found in scenario_folders(ROOT)] == sorted(catalogue())


@pytest.mark.parametrize("name", REQUIRED_FILES)
def test_a_missing_part_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(ScenarioError, match=f"^vendor_onboarding/{name}: missing$"):
        scenario_folders(folder.parent)


def test_a_brief_that_names_a_hidden_fact_is_rejected_with_its_location(folder: Path) -> None:
    _reword(folder, "We want to take on a new vendor; the", "We want to take on {legal_name}; the")
    with pytest.raises(ScenarioError, match=r"texts\.toml: briefs\[3\]: names a hidden fact by \{legal_name\}"):
        check_folder(folder)


def test_a_brief_that_names_no_ticket_is_rejected(folder: Path) -> None:
    _reword(folder, "{key} is waiting for us. Please onboard", "A ticket is waiting for us. Please onboard")
    _reword(folder, "resolve {key}. If the vendor must", "resolve it. If the vendor must")
    with pytest.raises(ScenarioError, match=r"briefs\[1\]: does not name the ticket"):
        check_folder(folder)


def test_too_few_briefs_are_rejected(folder: Path) -> None:
    (folder / "texts.toml").write_text('briefs = ["{key}", "Do {key}"]\n')
    with pytest.raises(ScenarioError, match="briefs: 2 different ones, at least 6"):
        check_folder(folder)


def test_texts_that_are_not_toml_are_rejected(folder: Path) -> None:
    (folder / "texts.toml").write_text("briefs = [")
    with pytest.raises(ScenarioError, match=r"^vendor_onboarding/texts\.toml: "):
        check_folder(folder)


def test_an_unknown_resolution_of_a_blocker_is_rejected(folder: Path) -> None:
    _reword(folder, 'way = "unlink"', 'way = "ignore"')
    with pytest.raises(ScenarioError, match="blocker: the ways are resolve, unlink, wait"):
        check_folder(folder)


def test_a_question_without_an_accepted_answer_is_rejected(folder: Path) -> None:
    _reword(folder, "answer =", "reply =")
    with pytest.raises(ScenarioError, match=r"^vendor_onboarding/texts\.toml: decisions\.questions\[0\]: no answer$"):
        check_folder(folder)


def test_a_checklist_item_without_text_and_shows_is_rejected(folder: Path) -> None:
    _reword(folder, '{ text = "Contract record checked", shows = "contract" }', '"Contract record checked"')
    with pytest.raises(ScenarioError, match=r"texts\.toml: checklists\.usual\[1\]: must have `text` and `shows`"):
        check_folder(folder)
