"""`companyos new scenario` writes a package with the given name, and no other files."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from companyos.cli.main import app

RUNNER = CliRunner()


def test_the_given_name_is_used_throughout_the_package(tmp_path: Path) -> None:
    folder = tmp_path / "fleet"
    answer = RUNNER.invoke(app, ["new", "scenario", "fleet_card", "--dir", str(folder)])
    assert answer.exit_code == 0, answer.output
    assert f"companyos check {folder}" in answer.output
    written = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    package = [f"src/fleet_card/{name}" for name in ("__init__.py", "players.py", "scenario.py", "texts.toml")]
    assert written == ["README.md", "pyproject.toml", *package, "tests/test_fleet_card.py"]
    for name in written:
        text = (folder / name).read_text()
        assert not [word for word in ("parking_permit", "parking-permit", "ParkingPermit") if word in text]
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["name"] == "fleet-card"
    assert project["entry-points"] == {
        "companyos.scenarios": {"fleet_card": "fleet_card.scenario:SCENARIO"},
        "companyos.players": {"fleet_card": "fleet_card.players"},
    }


def test_the_folder_has_the_name_of_the_scenario_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert RUNNER.invoke(app, ["new", "scenario", "fleet_card"]).exit_code == 0
    assert (tmp_path / "fleet_card" / "pyproject.toml").is_file()


@pytest.mark.parametrize(
    "name", ["Fleet", "fleet-card", "1fleet", "fleet__card", "_fleet", "class", "json", "../fleet"]
)
def test_an_invalid_package_name_is_rejected(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = RUNNER.invoke(app, ["new", "scenario", name])
    assert answer.exit_code == 2
    assert "NAME must" in answer.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["pydantic", "companyos_gateway", "companyos", "typing_extensions"])
def test_the_name_of_an_installed_package_is_rejected(name: str, tmp_path: Path) -> None:
    answer = RUNNER.invoke(app, ["new", "scenario", name, "--dir", str(tmp_path / "new")])
    assert answer.exit_code == 2
    assert f"NAME must not be that of an installed package; got '{name}'" in answer.output


def test_the_name_of_an_installed_scenario_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "site" / "acme-1.0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[companyos.scenarios]\nacme_parking = acme.scenario:SCENARIO\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    for name in ("vendor_onboarding", "acme_parking"):
        answer = RUNNER.invoke(app, ["new", "scenario", name, "--dir", str(tmp_path / "new")])
        assert (answer.exit_code, answer.stderr) == (
            2,
            f"error: a scenario {name} is already installed; choose another NAME\n",
        )
    assert not (tmp_path / "new").exists()


def test_existing_files_are_kept(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    answer = RUNNER.invoke(app, ["new", "scenario", "fleet_card", "--dir", str(tmp_path)])
    assert answer.exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
