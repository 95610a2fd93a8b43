"""Scenarios that another installed package adds by an entry point."""

from __future__ import annotations

from pathlib import Path

import pytest

from companyos.entry_points import EntryPointError
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.catalogue import ScenarioError, builtin_names
from companyos_gateway.scenarios.validation import check_scenarios
from companyos_gateway.tasks.task_set import TaskSet
from companyos_players.registry import fair_player
from tests.plugins.conftest import Install
from tests.scenarios.engine import EpisodeSpec, open_player

OFFICE = ("scenarios", "office_license = acme:SCENARIO")
MODULE = """
from companyos_gateway.scenarios.license_renewal.scenario import LicenseRenewal

class OfficeLicense(LicenseRenewal):
    name = "office_license"

SCENARIO = OfficeLicense()
"""


def test_an_added_scenario_is_in_the_catalogue_without_moving_published_tasks(install: Install) -> None:
    published = TaskSet(catalogue())
    install(*OFFICE, MODULE)
    assert set(catalogue()) - builtin_names() == {"office_license"}
    check_scenarios(catalogue())
    tasks = TaskSet(catalogue())
    first, last = tasks.tasks("test", 0, 300), tasks.tasks("test")[-1]
    assert [task.id for task in first] == [task.id for task in published.tasks("test", 0, 300)]
    assert (last.scenario, tasks.position("test", tasks.size("test") - 1).id) == ("office_license", last.id)
    assert tasks.find(last.id) == tasks.position("test", tasks.size("test") - 1)
    assert tasks.size("test") - published.size("test") == published.size("test") / len(builtin_names())
    assert tasks.version.startswith(f"{published.version}+")


@pytest.mark.matrix
def test_an_added_scenario_is_played_and_judged(install: Install, tmp_path: Path) -> None:
    install(*OFFICE, MODULE)
    with open_player(tmp_path / "data") as play_all:
        player = fair_player("license_renewal")
        kept = play_all([EpisodeSpec(scenario="office_license", player=player, seed=3, chaos=2)])
    assert kept[0].result.success


@pytest.mark.parametrize(
    ("entry", "module", "fault"),
    [
        ("license_renewal = acme:SCENARIO", MODULE, "another scenario has this name"),
        ("other_license = acme:SCENARIO", MODULE, "the scenario is named 'office_license'"),
        ("office_license = acme.missing:SCENARIO", MODULE, "No module named 'acme0.missing'"),
        ("office_license = acme:MISSING", MODULE, ".* has no attribute 'MISSING'"),
        ("office_license = acme:SCENARIO", "raise ValueError('no license server')", "no license server"),
    ],
)
def test_an_invalid_entry_point_is_named_with_its_package_and_the_reason(
    install: Install, entry: str, module: str, fault: str
) -> None:
    install("scenarios", entry, module)
    with pytest.raises(EntryPointError, match=rf"^entry point \w+ = acme0[.\w]*:\w+ of acme0 1\.0: (\w+: )?{fault}"):
        catalogue()


def test_an_added_scenario_with_wrong_texts_is_named_with_its_file(install: Install) -> None:
    texts = install(*OFFICE, MODULE) / "texts.toml"
    texts.write_text(texts.read_text().replace("{key}", "the ticket"))
    with pytest.raises(EntryPointError, match=r"texts\.toml: briefs\[0\]: does not name the ticket by {key}"):
        catalogue()


def test_a_text_with_an_unknown_slot_is_reported_with_its_line(install: Install) -> None:
    texts = install(*OFFICE, MODULE) / "texts.toml"
    lines = texts.read_text().splitlines()
    number = lines.index("titles = [") + 2
    lines[number - 1] = '"Renew {licence}",'
    texts.write_text("\n".join(lines))
    place = rf"^office_license/texts\.toml: line {number}: no value for the slot {{licence}}$"
    with pytest.raises(ScenarioError, match=place):
        check_scenarios({"office_license": catalogue()["office_license"]})


def test_an_error_of_a_scenario_is_reported_with_its_line(install: Install) -> None:
    method = "\n\n    def draw(self, build):\n        return build.worlds\n"
    install(*OFFICE, MODULE.replace('name = "office_license"\n', f'name = "office_license"{method}'))
    place = r"AttributeError: .* no attribute 'worlds' \(__init__\.py, line 8, in draw\)$"
    with pytest.raises(ScenarioError, match=rf"^office_license/scenario\.py: seed 0 cannot be staged: {place}"):
        check_scenarios({"office_license": catalogue()["office_license"]})
