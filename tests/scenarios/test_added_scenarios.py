"""Scenarios that another installed package adds by an entry point."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from companyos.entry_points import EntryPointError
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.catalogue import ScenarioError, _discovered, builtin_names
from companyos_gateway.scenarios.license_renewal import scenario as license_renewal
from companyos_gateway.scenarios.validation import check_scenarios
from companyos_gateway.tasks.task_set import TaskSet
from companyos_players.registry import fair_player
from tests.scenarios.engine import EpisodeSpec, open_player

MODULE = """
from companyos_gateway.scenarios.license_renewal.scenario import LicenseRenewal


class OfficeLicense(LicenseRenewal):
    name = "office_license"


SCENARIO = OfficeLicense()
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Provide a function that installs a package with a scenario."""

    def install_package(*, name: str = "office_license", value: str = "acme_tasks.office:SCENARIO") -> None:
        package, info = tmp_path / "acme_tasks", tmp_path / "acme_tasks-1.0.dist-info"
        package.mkdir()
        info.mkdir()
        (package / "__init__.py").touch()
        (package / "office.py").write_text(MODULE)
        shutil.copy(Path(license_renewal.__file__).parent / "texts.toml", package)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-tasks\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[companyos.scenarios]\n{name} = {value}\n")
        monkeypatch.syspath_prepend(tmp_path)

    _discovered.cache_clear()
    yield install_package
    _discovered.cache_clear()
    for name in ("acme_tasks", "acme_tasks.office"):
        sys.modules.pop(name, None)


def test_an_added_scenario_is_in_the_catalogue_without_moving_published_tasks(install: Install) -> None:
    published = TaskSet(catalogue())
    _discovered.cache_clear()
    install()
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
    install()
    with open_player(tmp_path / "data") as play_all:
        player = fair_player("license_renewal")
        kept = play_all([EpisodeSpec(scenario="office_license", player=player, seed=3, chaos=2)])
    assert kept[0].result.success


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ({"name": "license_renewal"}, "another scenario has this name"),
        ({"name": "other_license"}, "the scenario is named 'office_license'"),
        ({"value": "acme_tasks.missing:SCENARIO"}, "No module named 'acme_tasks.missing'"),
        ({"value": "acme_tasks.office:MISSING"}, "has no attribute 'MISSING'"),
    ],
)
def test_an_invalid_entry_point_is_named_with_its_package(install: Install, entry: dict[str, str], fault: str) -> None:
    install(**entry)
    with pytest.raises(EntryPointError, match=rf"^entry point \w+ = acme_tasks\.\w+:\w+ of acme-tasks 1\.0: .*{fault}"):
        catalogue()


def test_an_entry_point_whose_module_fails_is_named_with_the_reason(install: Install, tmp_path: Path) -> None:
    install()
    (tmp_path / "acme_tasks" / "office.py").write_text("raise ValueError('no license server')\n")
    with pytest.raises(
        EntryPointError, match=r"^entry point office_license = .* of acme-tasks 1\.0: no license server"
    ):
        catalogue()


def test_an_added_scenario_with_wrong_texts_is_named_with_its_file(install: Install, tmp_path: Path) -> None:
    install()
    texts = tmp_path / "acme_tasks" / "texts.toml"
    texts.write_text(texts.read_text().replace("{key}", "the ticket"))
    with pytest.raises(EntryPointError, match=r"texts\.toml: briefs\[0\]: does not name the ticket by {key}"):
        catalogue()


def test_a_text_with_an_unknown_slot_is_reported_with_its_line(install: Install, tmp_path: Path) -> None:
    install()
    texts = tmp_path / "acme_tasks" / "texts.toml"
    lines = texts.read_text().splitlines()
    number = lines.index("titles = [") + 2
    lines[number - 1] = '"Renew {licence}",'
    texts.write_text("\n".join(lines))
    place = rf"^office_license/texts\.toml: line {number}: no value for the slot {{licence}}$"
    with pytest.raises(ScenarioError, match=place):
        check_scenarios({"office_license": catalogue()["office_license"]})


def test_an_error_of_a_scenario_is_reported_with_its_line(install: Install, tmp_path: Path) -> None:
    install()
    module = tmp_path / "acme_tasks" / "office.py"
    method = "\n\n    def draw(self, build):\n        return build.worlds\n"
    module.write_text(MODULE.replace('name = "office_license"\n', f'name = "office_license"{method}'))
    place = r"AttributeError: .* no attribute 'worlds' \(office\.py, line 9, in draw\)$"
    with pytest.raises(ScenarioError, match=rf"^office_license/scenario\.py: seed 0 cannot be staged: {place}"):
        check_scenarios({"office_license": catalogue()["office_license"]})
