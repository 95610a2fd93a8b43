"""Harbor trials: exported folders, the agent's endpoint, and the verdict."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from companyos.cli.main import app
from companyos.enterprise import Enterprise
from companyos.integrations.harbor import AGENT_PORT, MAX_BODY_BYTES, READY, TrialEpisode, agent_server, verdict_server
from companyos.runner import EpisodePlan, play_all
from companyos_gateway.tasks import CANARY

pytestmark = pytest.mark.integration

RUNNER = CliRunner()
TASK = "test.vendor_onboarding.0.00"
TOKEN = "of-the-trainer-alone"
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
LOOK = {"name": "ticketdesk_list_tickets", "arguments": {"limit": 1}}
FROM_ELSEWHERE = "example.org/companyos:1"


@pytest.fixture(scope="module")
def exported(url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("harbor")
    which = ["--split", "test", "--scenario", "vendor_onboarding", "-n", "1", "--image", FROM_ELSEWHERE]
    answer = RUNNER.invoke(app, ["tasks", "export", "--format", "harbor", "--out", str(folder), *which, "--url", url])
    assert answer.exit_code == 0, answer.output
    return folder


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    """Give the address of an enterprise that asks for its trainer's token."""
    with Enterprise(settings={"COMPANYOS_TRAINER_TOKEN": TOKEN}, alone=True) as enterprise:
        yield enterprise.url


@contextmanager
def _opened(server: ThreadingHTTPServer) -> Iterator[str]:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def _serve_trial(url: str) -> Iterator[tuple[str, str]]:
    """Yield the addresses of the agent's and the judge's endpoints for a new episode."""
    trial = TrialEpisode(url, TASK, token=TOKEN)
    with (
        closing(trial),
        _opened(agent_server(trial, host="127.0.0.1", port=0)) as agents,
        _opened(verdict_server(trial, port=0)) as judges,
    ):
        yield agents, judges


def _called(address: str, call: Mapping[str, object]) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    answer: dict[str, Any] = json.loads(_posted(f"{address}/mcp", json.dumps(message).encode()))
    return answer


def _posted(address: str, body: bytes) -> bytes:
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    with OPENER.open(urllib.request.Request(address, body, headers)) as answer:
        return bytes(answer.read())


def _status(address: str, body: bytes | None = None) -> int:
    try:
        with OPENER.open(urllib.request.Request(address, body)) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code


def _verdict(judges: str) -> dict[str, float]:
    with OPENER.open(f"{judges}/verdict") as answer:
        reported: dict[str, float] = json.load(answer)
        return reported


def _company(exported: Path, address: str, *words: str) -> subprocess.CompletedProcess[str]:
    script = exported / TASK / "environment" / "company.py"
    environment = {**os.environ, "COMPANY_MCP": f"{address}/mcp"}
    return subprocess.run(
        [sys.executable, str(script), *words], env=environment, capture_output=True, text=True, check=False
    )


def test_a_task_is_judged_in_the_company_container(exported: Path) -> None:
    reported = tomllib.loads((exported / TASK / "task.toml").read_text())
    assert reported["task"]["name"] == f"companyos/{TASK}"
    assert reported["metadata"]["canary"] == CANARY
    assert reported["verifier"]["environment_mode"] == "separate"
    (collected,) = reported["verifier"]["collect"]
    (kept,) = reported["artifacts"]
    assert collected["service"] == kept["service"] == "companyos"
    assert collected["command"] == f"python3 -m companyos.integrations.harbor verdict > {kept['source']}"
    assert f"cp {kept['source']} /logs/verifier/reward.json" in (exported / TASK / "tests" / "test.sh").read_text()


def test_the_company_of_a_task_uses_the_named_image(exported: Path) -> None:
    services = yaml.safe_load((exported / TASK / "environment" / "docker-compose.yaml").read_text())["services"]
    assert services["companyos"]["image"] == FROM_ELSEWHERE
    assert services["companyos"]["command"][-2:] == ["serve", TASK]
    assert f"'http://127.0.0.1:{AGENT_PORT}{READY}'" in services["companyos"]["healthcheck"]["test"][-1]
    assert services["main"] == {"depends_on": {"companyos": {"condition": "service_healthy"}}}


def test_files_of_the_agent_name_neither_the_task_nor_its_seed(exported: Path) -> None:
    given = "".join((exported / TASK / name).read_text() for name in ("instruction.md", "environment/company.py"))
    assert TASK not in given
    assert "seed" not in given
    copied = [line for line in (exported / TASK / "environment/Dockerfile").read_text().splitlines() if "COPY" in line]
    assert copied == ["COPY --chmod=755 company.py /usr/local/bin/company"]
    assert not (exported / TASK / "solution").exists()


def test_the_command_in_the_agent_container_lists_and_calls_tools(exported: Path, guarded: str) -> None:
    with _serve_trial(guarded) as (agents, _):
        tools = [json.loads(line)["name"] for line in _company(exported, agents, "tools").stdout.splitlines()]
        assert LOOK["name"] in tools
        called = _company(exported, agents, "call", "ticketdesk_list_tickets", '{"limit": 1}')
        assert len(json.loads(called.stdout)["result"]["items"]) == 1
        assert _company(exported, agents, "call", "ticketdesk_list_tickets", "[]").returncode == 1
    assert "cannot connect" in _company(exported, agents, "tools").stderr


def test_the_server_of_the_agent_shows_no_reward_and_has_no_other_routes(guarded: str) -> None:
    with _serve_trial(guarded) as (agents, judges):
        answer = _called(agents, LOOK)
        assert answer["result"]["structuredContent"]["steps_left"] > 0
        assert "reward" not in json.dumps(answer)
        assert _status(f"{agents}/readyz") == 200
        assert _status(f"{agents}/mcp") == 405
        for path in ("/verdict", "/state", "/v1/episodes", "/docs", "/mcp/../state"):
            assert _status(f"{agents}{path}") == 404
        for path in ("/reset", "/step", "/verdict"):
            assert _status(f"{agents}{path}", b"{}") == 404
        assert _status(f"{agents}/mcp", b" " * (MAX_BODY_BYTES + 1)) == 413
        assert _status(f"{judges}/reward") == 404


def test_an_agent_does_not_see_the_outcome_of_its_episode(guarded: str) -> None:
    with _serve_trial(guarded) as (agents, _):
        last = _called(agents, {"name": "finish", "arguments": {"outcome": "done", "summary": "Looked around."}})
        late = _called(agents, LOOK)
    assert last["result"]["structuredContent"]["done"] is True
    assert late["result"]["isError"] is True
    for word in ("failed", "success", "reward"):
        assert word not in json.dumps([last, late])


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (f"Content-Length: {'9' * 5000}", 413),
        ("Content-Length: 2\r\nContent-Length: 20", 400),
        ("Content-Length: 2\r\nTransfer-Encoding: chunked", 400),
        ("Content-Length: 2\r\nAccept: caf\xe9", 400),
        ("Content-Length: +2", 411),
    ],
)
def test_a_message_with_invalid_headers_is_rejected_and_closes_the_connection(
    guarded: str, header: str, status: int
) -> None:
    with _serve_trial(guarded) as (agents, _):
        host, port = agents.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            another = "GET /readyz HTTP/1.1\r\nHost: company\r\n\r\n"
            sent = f"POST /mcp HTTP/1.1\r\nHost: company\r\n{header}\r\n\r\n{{}}{another}"
            connection.sendall(sent.encode("latin-1"))
            answered = b"".join(iter(lambda: connection.recv(4096), b""))
    assert answered.startswith(f"HTTP/1.1 {status} ".encode())
    assert answered.count(b"HTTP/1.1") == 1


def test_an_agent_that_disconnects_is_judged_like_one_that_gave_up(guarded: str) -> None:
    with _serve_trial(guarded) as (agents, judges):
        _called(agents, LOOK)
        verdict = _verdict(judges)
        assert verdict["reward"] == 0.0
        assert verdict["return"] < 0
        assert verdict["steps"] == 2
        assert _verdict(judges) == verdict


def test_replaying_the_oracle_through_the_server_of_the_agent_is_rewarded(guarded: str) -> None:
    plan = EpisodePlan(scenario="vendor_onboarding", chaos=0, policy="oracle", task_id=TASK)
    (played,) = asyncio.run(play_all(guarded, [plan], token=TOKEN))
    assert played.record.success
    with _serve_trial(guarded) as (agents, judges):
        for step in played.steps:
            _called(agents, {"name": step.tool, "arguments": step.arguments})
        assert _verdict(judges) == {"reward": 1.0, "return": played.record.return_, "steps": played.record.steps}


def test_an_unknown_task_stops_the_start_with_an_error() -> None:
    command = [sys.executable, "-m", "companyos.integrations.harbor", "serve", "test.no_such_task.0.00"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("cannot start the task: ")


def test_an_image_is_only_accepted_for_harbor(tmp_path: Path) -> None:
    which = ["--format", "jsonl", "--image", "companyos-env"]
    assert RUNNER.invoke(app, ["tasks", "export", "--out", str(tmp_path), *which]).exit_code == 2
