"""Claims of the documentation: targets and links exist, and the two commands require neither Docker nor an account."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from companyos_gateway.engine import reward
from companyos_gateway.evaluation.milestones import MAX_MILESTONE_POINTS
from companyos_gateway.evaluation.rubric import DECLARED_CHECK_ID
from companyos_gateway.scenarios import catalogue
from tests.architecture.sources import DOCUMENTS, ROOT

MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z][a-z0-9-]*):", MAKEFILE, re.MULTILINE))
RECIPES = {
    match["target"]: match["recipe"]
    for match in re.finditer(
        r"^(?P<target>[a-z][a-z0-9-]*):[^\n]*\n(?P<recipe>(?:\t[^\n]*\n)+)", MAKEFILE, re.MULTILINE
    )
}


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _make_words(text: str) -> set[str]:
    """Return the make targets that a text mentions: in code spans and at the start of lines in code blocks."""
    return set(re.findall(r"(?:`|^|[;&]\s*)make ([a-z][a-z0-9-]*)", text, re.MULTILINE))


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_a_document_names_only_targets_that_exist(document: Path) -> None:
    assert _make_words(document.read_text()) <= TARGETS


def test_the_readme_names_the_two_commands() -> None:
    assert {"demo", "test"} <= _make_words((ROOT / "README.md").read_text())


def test_an_invented_target_is_detected() -> None:
    assert _make_words("Run `make coffee`, then:\n```\nmake tea\n```") == {"coffee", "tea"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_every_relative_link_points_to_an_existing_file(document: Path) -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", document.read_text())
    assert not [link for link in links if not (document.parent / link).exists()]


def test_every_screenshot_is_shown_in_a_document() -> None:
    shown = {link for page in DOCUMENTS for link in re.findall(r"screenshots/([\w-]+\.png)\)", page.read_text())}
    assert shown == {path.name for path in (ROOT / "docs" / "screenshots").iterdir()}


def test_every_check_in_the_documentation_is_of_several_scenarios() -> None:
    page = (ROOT / "docs" / "evaluating.md").read_text()
    documented = set(
        re.findall(r"^\| `(\w+)` \|", page.partition("### Checks\n")[2].partition("\n### ")[0], re.MULTILINE)
    )
    scenarios = catalogue().values()
    ids = [
        {DECLARED_CHECK_ID, *(check.id for seed in range(3) for check in scenario.plan(seed, 3).rubric.checks)}
        for scenario in scenarios
    ]
    assert documented >= {"declared", "not_guessed", "approval_given"}
    assert {check for check in documented if sum(check in found for found in ids) < 2} == set()


def test_every_adr_is_listed_in_the_index() -> None:
    folder = ROOT / "docs" / "adr"
    pages = {path.name for path in folder.glob("[0-9]*.md")}
    assert pages
    assert set(re.findall(r"\((\d{4}-[^)]+)\)", (folder / "README.md").read_text())) == pages


def test_every_make_target_has_a_help_text() -> None:
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    phony = re.search(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE)
    assert phony is not None
    assert set(re.findall(r"^  ([a-z][a-z0-9-]*)", listed, re.MULTILINE)) == set(phony[1].split()) == TARGETS


@pytest.mark.parametrize("target", ["demo", "test"])
def test_the_two_commands_need_no_docker_and_no_account(target: str) -> None:
    recipe = RECIPES[target] + "".join(re.findall(r"^\$\((?:STAMP|UV)\):.*\n(?:\t.*\n)+", MAKEFILE, re.MULTILINE))
    assert "docker" not in recipe.lower()
    assert not re.search(r"token|login|password|api.?key", recipe, re.IGNORECASE)


def test_the_two_commands_install_packages_from_the_configured_index() -> None:
    written = [ROOT / "Makefile", ROOT / "pyproject.toml", ROOT / "docker-compose.yml", *ROOT.glob(".ci/*")]
    written += [*ROOT.glob("deploy/*/Dockerfile"), ROOT / "gateway" / "Dockerfile"]
    for path in written:
        hosts = set(re.findall(r"https?://([^/\s\"':}]+)", path.read_text()))
        assert hosts <= {"127.0.0.1", "localhost", "ticketdesk", "datahub", "approvalflow"}, path


def test_the_readme_states_the_rewards_of_the_gateway() -> None:
    rows = dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", (ROOT / "README.md").read_text(), re.MULTILINE))
    assert rows["each step"] == f"-{reward.STEP_COST}"
    assert rows["a call that a service refuses"] == f"-{reward.PROBLEM_COST}"
    assert rows["unknown tool or invalid arguments"] == f"-{reward.INVALID_CALL_COST}"
    assert rows["an approval request that its approver rejects"] == f"-{reward.REJECTION_COST}"
    assert rows["irreversible damage"].startswith(f"-{reward.DAMAGE_COST} each, at most -{reward.MAX_DAMAGE}")
    assert rows["success"] == f"+{reward.SUCCESS_REWARD}"
    failure = "the task's ticket closed wrongly, `finish` without success, no steps left, or closed early by the client"
    assert rows[failure] == f"-{reward.FAILURE_COST}"
    shift = rows["end of a [shift](docs/scenarios.md#shifts)"]
    assert shift.startswith(f"+{reward.SUCCESS_REWARD} and -{reward.FAILURE_COST}, weighted by")
    assert f"cost at most {reward.MAX_COSTS:g} points in an episode" in (ROOT / "README.md").read_text()


def test_the_readme_states_the_limit_of_the_milestones() -> None:
    assert f"at most {MAX_MILESTONE_POINTS:g} in total |" in _row("a [milestone]")


def _row(start: str) -> str:
    return next(line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith(f"| {start}"))
