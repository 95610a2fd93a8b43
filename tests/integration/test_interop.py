"""`make clients`: the conditions under which a foreign client counts as ok, shown with an installed one."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

from verification.benchmarks.peers.__main__ import PEERS, Peer
from verification.clients.catalogue import CLIENTS, PACKAGES, REQUIREMENTS, WORKSPACE
from verification.clients.harnesses.__main__ import HARNESSES
from verification.clients.trials import CALLS, play

FASTMCP = next(client for client in CLIENTS if client.name == "fastmcp")
FALSE_REPORT = """
import json, sys, urllib.request
sys.path.insert(0, {players!r})
import common
url, episode = common.read_arguments()
step = {{"episode_id": episode, "action": {{"tool_name": "wait", "arguments": {{"minutes": 5}}}}}}
request = urllib.request.Request(url + "/step", json.dumps(step).encode(), {{"Content-Type": "application/json"}})
urllib.request.urlopen(request)
tools = len(json.load(urllib.request.urlopen(url + "/v1/tools?episode_id=" + episode)))
print(json.dumps({{"version": "1", "tools": tools, "steps_left": None, "steps": 3}}))
"""


def test_a_client_with_the_expected_observations_passes(up: str) -> None:
    trial = play(FASTMCP, Path(sys.executable), up)
    assert trial.is_ok, trial.reason
    assert trial.steps == CALLS


def test_a_client_with_other_counts_fails(up: str, tmp_path: Path) -> None:
    (tmp_path / "false_report.py").write_text(FALSE_REPORT.format(players=str(FASTMCP.script.parent)))
    false_report = replace(FASTMCP, name="false_report", player=str(tmp_path / "false_report"))
    assert play(false_report, Path(sys.executable), up).reason == "steps: expected 1, client reported 3"


def test_a_crash_of_a_client_is_reported_with_its_reason(up: str, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("raise SystemExit('it cannot be imported')")
    broken = replace(FASTMCP, name="broken", player=str(tmp_path / "broken"))
    assert play(broken, Path(sys.executable), up).reason == "it cannot be imported"


def test_every_environment_is_pinned_to_versions_without_urls() -> None:
    used = {client.environment for client in CLIENTS} | {harness.environment for harness in HARNESSES}
    used |= {peer.environment for peer in PEERS if isinstance(peer, Peer)}
    assert used == {*PACKAGES, WORKSPACE, "inspect"}
    assert {path.stem for path in REQUIREMENTS.glob("*.txt")} == set(PACKAGES)
    for path in REQUIREMENTS.glob("*.txt"):
        pins = [line for line in path.read_text().splitlines() if not line.startswith("#")]
        assert all(re.match(r"[a-z0-9.-]+(\[[a-z,-]+\])?==\S+", pin) for pin in pins), path
        assert "://" not in path.read_text()


def test_every_client_has_a_player_script() -> None:
    assert {client.script.name for client in CLIENTS} == {path.name for path in CLIENTS[0].script.parent.glob("with_*")}
