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


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        (
            {"We want to take on a new vendor; the": "We want to take on {legal_name}; the"},
            r"briefs\[3\]: names a hidden fact by \{legal_name\}",
        ),
        (
            {
                "{key} is waiting for us. Please onboard": "A ticket is waiting for us. Please onboard",
                "resolve {key}. If the vendor must": "resolve it. If the vendor must",
            },
            r"briefs\[1\]: does not name the ticket",
        ),
        ({'way = "unlink"': 'way = "ignore"'}, "blocker: the ways are resolve, unlink, wait"),
        ({"answer =": "reply ="}, r"decisions\.questions\[0\]: no answer$"),
        (
            {'{ text = "Contract record checked", shows = "contract" }': '"Contract record checked"'},
            r"checklists\.usual\[1\]: must have `text` and `shows`",
        ),
    ],
)
def test_an_invalid_text_is_rejected_with_its_location(folder: Path, changes: dict[str, str], fault: str) -> None:
    text = (folder / "texts.toml").read_text()
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    (folder / "texts.toml").write_text(text)
    with pytest.raises(ScenarioError, match=rf"^vendor_onboarding/texts\.toml: {fault}"):
        check_folder(folder)


@pytest.mark.parametrize(
    ("text", "fault"),
    [('briefs = ["{key}", "Do {key}"]', "briefs: 2 different ones, at least 6"), ("briefs = [", "")],
    ids=["few briefs", "not TOML"],
)
def test_incomplete_texts_are_rejected(folder: Path, text: str, fault: str) -> None:
    (folder / "texts.toml").write_text(text)
    with pytest.raises(ScenarioError, match=rf"^vendor_onboarding/texts\.toml: {fault}"):
        check_folder(folder)
