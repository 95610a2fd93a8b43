"""One installed package that adds a service, a chaos profile, a scenario and a policy."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.architecture.sources import ROOT
from tests.integration.http_episode import HttpEpisode
from tests.integration.processes import StartupTimeoutError, clean_environment, running
from verification.ports import HOST, free_port

pytestmark = pytest.mark.integration

PACKAGE = Path(__file__).parent / "acme_parking"
SCENARIO, LEVEL = "parking_permit", 5
REFERENCE = """
from companyos_gateway.scenarios import catalogue
from verification.reference.scenarios_page import scenarios_page

print(scenarios_page(catalogue()))
"""


def _install(source: Path, target: Path) -> Path:
    uv = ROOT / ".venv-tools" / "bin" / "uv"
    options = ("--offline", "--no-deps", "--no-config", "--python", sys.executable, "--target", str(target))
    subprocess.run([str(uv), "pip", "install", "-q", *options, str(source)], check=True)
    return target


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the package is installed."""
    root = tmp_path_factory.mktemp("plugins")
    return _install(Path(shutil.copytree(PACKAGE, root / "source")), root / "installed")


@pytest.fixture(scope="module")
def url(installed: Path) -> Iterator[str]:
    """A gateway with its embedded services, and the package installed next to it."""
    with _gateway(installed) as address:
        yield address


def _gateway(installed: Path) -> Any:
    port = free_port()
    command = [sys.executable, "-m", "companyos_gateway", "--host", HOST, "--port", str(port)]
    return running(command, f"http://{HOST}:{port}", PYTHONPATH=str(installed))


def _run(installed: Path, *arguments: str) -> str:
    paths = os.pathsep.join([str(installed), str(ROOT)])
    done = subprocess.run(
        [sys.executable, *arguments], env=clean_environment({"PYTHONPATH": paths}), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def episode(url: str, http: requests.Session) -> HttpEpisode:
    started = HttpEpisode(url, http)
    started.reset(scenario=SCENARIO, seed=3, chaos=0)
    return started


def _permits(episode: HttpEpisode, status: str) -> list[str]:
    items = episode.result("parking_list_permits")["items"]
    return [permit["id"] for permit in items if permit["status"] == status]


def _verdict(episode: HttpEpisode) -> dict[str, Any]:
    answer = episode.http.get(f"{episode.url}/v1/episodes/{episode.id}/evidence")
    assert answer.status_code == 200, answer.text
    verdict: dict[str, Any] = answer.json()["verdict"]
    return verdict


def _failed_checks(verdict: dict[str, Any]) -> dict[str, str]:
    return {check["id"]: check["found"] for check in verdict["checks"] if not check["passed"]}


def test_the_policy_solves_the_scenario_under_the_profile_and_the_evidence_can_be_rescored(
    installed: Path, url: str, tmp_path: Path
) -> None:
    options = ("--scenario", SCENARIO, "--chaos", str(LEVEL), "-n", "1", "--url", url, "--out", str(tmp_path / "run"))
    _run(installed, "-m", "companyos", "eval", "--policy", "parking_clerk", *options)
    played = json.loads((tmp_path / "run" / "episodes.jsonl").read_text())
    assert (played["policy"], played["chaos"], played["success"]) == ("parking_clerk", LEVEL, True)
    _run(installed, "-m", "companyos", "rescore", str(tmp_path / "run"))


def test_the_profile_affects_the_added_service(url: str, http: requests.Session) -> None:
    episode = HttpEpisode(url, http)
    episode.reset(scenario=SCENARIO, seed=3, chaos=LEVEL)
    while "retry_after_s" not in (listed := episode.step("parking_list_permits")["observation"]["result"]):
        assert listed["total"] == 4
        episode.step("wait", minutes=10)
    assert listed["status"] == 503
    episode.step("wait", minutes=listed["retry_after_s"] // 60 + 1)
    assert episode.result("parking_list_permits")["total"] == 4


def test_the_tools_scenario_and_level_are_listed(installed: Path, url: str, http: requests.Session) -> None:
    assert "parking_issue_permit" in {tool["name"] for tool in http.get(f"{url}/v1/tools").json()}
    assert SCENARIO in {scenario["name"] for scenario in http.get(f"{url}/v1/scenarios").json()}
    assert SCENARIO in http.get(f"{url}/console/scenarios").text
    assert "5 outage" in http.get(f"{url}/console/scenarios/{SCENARIO}").text
    tasks = _run(
        installed, "-m", "companyos", "tasks", "--split", "test", "--scenario", SCENARIO, "--chaos", "5", "--url", url
    )
    assert f"test.{SCENARIO}.5.00" in tasks
    assert "outage" in tasks
    page = _run(installed, "-c", REFERENCE)
    assert f"| [{SCENARIO}](" in page
    assert "5 outage" in page


def test_other_scenarios_seed_the_service_and_can_be_played_at_the_level(url: str, http: requests.Session) -> None:
    episode = HttpEpisode(url, http)
    episode.reset(scenario="handbook_update", seed=1, chaos=0)
    issued = _permits(episode, "issued")
    assert len(issued) == 3
    episode.step("parking_suspend_permit", permit_id=issued[0])
    assert _failed_checks(_verdict(episode))["nothing_else_changed"] == f"parking.permits[{issued[0]}] changed: status"


def test_a_change_outside_of_the_task_fails_the_episode(episode: HttpEpisode) -> None:
    other = _permits(episode, "issued")[0]
    episode.step("parking_suspend_permit", permit_id=other)
    episode.step("parking_issue_permit", permit_id=_permits(episode, "requested")[-1])
    verdict = _verdict(episode)
    assert not verdict["success"]
    assert "nothing_else_changed" in _failed_checks(verdict)
    assert verdict["damage"] == []


def test_a_change_of_a_protected_row_counts_even_if_it_is_undone(episode: HttpEpisode) -> None:
    other = _permits(episode, "issued")[0]
    episode.step("parking_suspend_permit", permit_id=other)
    episode.step("parking_issue_permit", permit_id=other)
    found = _failed_checks(_verdict(episode))["nothing_else_changed"]
    assert found == f"parking.permits[{other}] changed and restored: status"


def test_an_irreversible_change_is_damage(episode: HttpEpisode) -> None:
    other = _permits(episode, "issued")[0]
    episode.step("parking_revoke_permit", permit_id=other)
    assert _verdict(episode)["damage"] == [f"parking.permits[{other}]"]


@pytest.mark.parametrize(
    ("app", "reason"),
    [
        ("acme_parking.missing:app", "No module named 'acme_parking.missing'"),
        ("acme_parking.service:SERVICE", "must be the app that create_app returns; got Service"),
    ],
)
def test_an_invalid_service_stops_the_start(tmp_path: Path, app: str, reason: str) -> None:
    source = Path(shutil.copytree(PACKAGE, tmp_path / "source"))
    project = source / "pyproject.toml"
    project.write_text(project.read_text().replace("acme_parking.service:app", app))
    installed = _install(source, tmp_path / "installed")
    with pytest.raises(StartupTimeoutError) as failed, _gateway(installed):
        pass
    last_line = str(failed.value).splitlines()[-1]
    assert last_line == f"error: entry point parking = {app} of acme-parking 1.0: {reason}"
