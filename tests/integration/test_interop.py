"""`make clients`: the conditions under which a foreign client counts as ok, shown with an installed one."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from verification.benchmarks.peers.__main__ import PEERS
from verification.clients.__main__ import CLIENTS, ThirdPartyClient, play
from verification.clients.environments import PACKAGES, REQUIREMENTS, WORKSPACE, ScriptFailedError
from verification.clients.harnesses.__main__ import HARNESSES

FALSE_REPORT = """
import json, sys, urllib.request
client, url, episode = sys.argv[1:]
step = {"episode_id": episode, "action": {"tool_name": "wait", "arguments": {"minutes": 5}}}
request = urllib.request.Request(url + "/step", json.dumps(step).encode(), {"Content-Type": "application/json"})
urllib.request.urlopen(request)
tools = len(json.load(urllib.request.urlopen(url + "/v1/tools?episode_id=" + episode)))
left = json.load(urllib.request.urlopen(url + "/state?episode_id=" + episode))["max_steps"] - 3
print(json.dumps({"version": "1", "tools": tools, "steps_left": left}))
"""


@pytest.mark.parametrize("client", [one for one in CLIENTS if one.environment in ("fastmcp", WORKSPACE)])
def test_a_client_with_the_expected_observations_passes(up: str, client: ThirdPartyClient) -> None:
    play(client, Path(sys.executable), up)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (FALSE_REPORT, "steps: expected 1, client reported 3"),
        ("raise SystemExit('it cannot be imported')", "it cannot be imported"),
        ("print('done')", "not a report"),
    ],
)
def test_a_client_with_other_counts_or_without_a_report_fails(
    up: str, tmp_path: Path, script: str, reason: str
) -> None:
    (tmp_path / "client.py").write_text(script)
    client = ThirdPartyClient(name=f"false-{len(script)}", environment="", function="")
    with pytest.raises(ScriptFailedError, match=reason):
        play(client, Path(sys.executable), up, tmp_path / "client.py")


def test_every_environment_is_pinned_to_versions_without_urls() -> None:
    used = {client.environment for client in CLIENTS} | {harness.environment for harness in HARNESSES}
    used |= {peer.environment for peer in PEERS}
    assert used == {*PACKAGES, WORKSPACE, "inspect"}
    assert {path.stem for path in REQUIREMENTS.glob("*.txt")} == set(PACKAGES)
    for path in REQUIREMENTS.glob("*.txt"):
        pins = [line for line in path.read_text().splitlines() if not line.startswith("#")]
        assert all(re.match(r"[a-z0-9.-]+(\[[a-z,-]+\])?==\S+", pin) for pin in pins), path
        assert "://" not in path.read_text()
