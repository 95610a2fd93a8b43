"""SIGTERM under load and SIGKILL, with real processes: accepted requests are answered, and no answered step is lost."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import requests
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from companyos_players.registry import fair_player
from tests.integration.http_episode import HttpEpisode
from tests.integration.processes import clean_environment, service_process
from tests.scenarios.engine import EpisodeSpec, open_player
from verification.ports import HOST, free_port

CLIENTS_OF_EACH_KIND = 8
STEPS_BEFORE = 20
DEADLINE_S = 60.0
STOP_DEADLINE_S = 10.0
ENDS_BEFORE_THE_DRAIN = "3"
POLL_S = 0.05
SERVICE_RESTART = 1012

ENTRY_TICKET = "OPS-798"
"""The entry ticket of every episode of seed 1."""

ACTIONS: list[dict[str, Any]] = [
    {"tool_name": "ticketdesk_list_tickets", "arguments": {}},
    {"tool_name": "ticketdesk_add_comment", "arguments": {"key": ENTRY_TICKET, "body": "The vendor was called."}},
    {"tool_name": "datahub_search_people", "arguments": {}},
    {"tool_name": "wait", "arguments": {"minutes": 3}},
]


@dataclass
class Played:
    """The answered steps of one client's episode."""

    id: str = ""
    answers: list[dict[str, Any]] = field(default_factory=list)
    refusals: list[tuple[int, str]] = field(default_factory=list)
    closed: int | None = None

    @property
    def next_action(self) -> dict[str, Any]:
        return ACTIONS[len(self.answers) % len(ACTIONS)]


class Gateway:
    """A gateway on a data folder, with its embedded services."""

    def __init__(self, data_dir: Path, **environment: str) -> None:
        self.port = free_port()
        self.url = f"http://{HOST}:{self.port}"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "companyos_gateway", "--port", str(self.port)],
            env=clean_environment({"COMPANYOS_DATA_DIR": str(data_dir), **environment}),
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_until_ready(self, http: requests.Session) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.process.communicate()[1]
            try:
                if http.get(f"{self.url}/readyz", timeout=5).status_code == 200:
                    return
            except requests.ConnectionError:
                pass
            time.sleep(POLL_S)
        raise AssertionError("the gateway was not ready in time")

    def stop(self) -> tuple[int, str]:
        """Terminate the process; return its exit code and its log."""
        self.process.send_signal(signal.SIGTERM)
        _, log = self.process.communicate(timeout=DEADLINE_S)
        return self.process.returncode, log


@contextmanager
def gateway(data_dir: Path, http: requests.Session, **environment: str) -> Iterator[Gateway]:
    started = Gateway(data_dir, **environment)
    try:
        started.wait_until_ready(http)
        yield started
    finally:
        started.process.kill()
        started.process.communicate()


async def over_http(url: str, played: Played) -> None:
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=20) as http:
        begun = await http.post("/reset", json={"seed": 1, "chaos": 0})
        played.id = begun.json()["episode_id"]
        while True:
            try:
                answer = await http.post("/step", json={"episode_id": played.id, "action": played.next_action})
            except httpx.TransportError:
                return
            if answer.status_code != 200:
                played.refusals.append((answer.status_code, answer.json()["code"]))
                assert int(answer.headers["Retry-After"]) > 0
                return
            played.answers.append(answer.json()["observation"])


async def over_socket(url: str, played: Played) -> None:
    async with connect(url.replace("http", "ws", 1) + "/ws", proxy=None) as socket:
        await _asked(socket, {"type": "reset", "data": {"seed": 1, "chaos": 0}})
        played.id = (await _asked(socket, {"type": "state"}))["episode_id"]
        try:
            while True:
                answer = await _asked(socket, {"type": "step", "data": played.next_action})
                played.answers.append(answer["observation"])
        except ConnectionClosed as closed:
            played.closed = None if closed.rcvd is None else closed.rcvd.code


async def _asked(socket: ClientConnection, message: dict[str, Any]) -> dict[str, Any]:
    await socket.send(json.dumps(message))
    answer = json.loads(await socket.recv())
    assert answer["type"] != "error", answer
    data: dict[str, Any] = answer["data"]
    return data


async def load(running: Gateway) -> tuple[list[Played], int, str, float]:
    """Let all clients step and stop the gateway midway; return the steps, exit code, log and stop time in seconds."""
    players = [Played() for _ in range(2 * CLIENTS_OF_EACH_KIND)]
    async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as group:
        for number, played in enumerate(players):
            play = over_http if number % 2 else over_socket
            group.create_task(play(running.url, played))
        while min(len(played.answers) for played in players) < STEPS_BEFORE:  # noqa: ASYNC110  # other tasks count
            await asyncio.sleep(POLL_S)
        began_at = time.monotonic()
        code, log = await asyncio.to_thread(running.stop)
        took_s = time.monotonic() - began_at
    return players, code, log, took_s


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[list[Played], int, str, float, Gateway]]:
    """A gateway that was told to stop while sixteen clients stepped, and another one on the same folder."""
    data_dir = tmp_path_factory.mktemp("data")
    with requests.Session() as http:
        http.trust_env = False
        with gateway(data_dir, http) as running:
            seen = asyncio.run(load(running))
        with gateway(data_dir, http) as next_one:
            yield (*seen, next_one)


Stopped = tuple[list[Played], int, str, float, Gateway]


def test_the_gateway_exits_successfully_in_time(stopped: Stopped) -> None:
    _, code, log, took_s, _ = stopped
    assert code == 0
    assert took_s < STOP_DEADLINE_S
    lines = [json.loads(line) for line in log.splitlines()]
    assert not [line for line in lines if line["level"] in ("error", "critical")]


def test_every_client_gets_the_reason_of_the_shutdown(stopped: Stopped) -> None:
    players = stopped[0]
    assert {played.closed for played in players[::2]} == {SERVICE_RESTART}
    assert {refusal for played in players[1::2] for refusal in played.refusals} == {(503, "shutting-down")}


def test_every_accepted_step_was_answered_and_is_recovered(stopped: Stopped, http: requests.Session) -> None:
    players, url = stopped[0], stopped[4].url
    for played in players:
        state = http.get(f"{url}/state", params={"episode_id": played.id})
        assert state.status_code == 200, state.text
        assert state.json()["step_count"] == len(played.answers)


def test_the_last_step_can_be_repeated_and_the_episode_continues(stopped: Stopped, http: requests.Session) -> None:
    players, url = stopped[0], stopped[4].url
    for played in players:
        last = len(played.answers)
        action = ACTIONS[(last - 1) % len(ACTIONS)]
        again = http.post(f"{url}/step", json={"episode_id": played.id, "step": last, "action": action})
        assert again.json()["observation"] == played.answers[-1]
        further = http.post(f"{url}/step", json={"episode_id": played.id, "action": ACTIONS[0]})
        assert further.json()["observation"]["error"] is None


def test_the_databases_contain_every_write_that_was_answered(stopped: Stopped, http: requests.Session) -> None:
    players, url = stopped[0], stopped[4].url
    for played in players:
        evidence = http.get(f"{url}/v1/episodes/{played.id}/evidence").json()
        written = [
            change["key"]
            for change in evidence["changes"]["ticketdesk"]
            if change["table"] == "comments" and change["actor"] == "agent"
        ]
        answered = [step["result"]["id"] for step in played.answers if step["tool_name"] == "ticketdesk_add_comment"]
        assert len(answered) >= STEPS_BEFORE // len(ACTIONS)
        assert sorted(written) == sorted(answered)


@pytest.mark.parametrize("step_timeout_s", [ENDS_BEFORE_THE_DRAIN, "30"])
def test_an_unresponsive_service_does_not_delay_the_shutdown(
    tmp_path: Path, http: requests.Session, step_timeout_s: str
) -> None:
    with gateway(tmp_path, http, COMPANYOS_STEP_TIMEOUT_S=step_timeout_s) as running:
        episode_id = http.post(f"{running.url}/reset", json={"seed": 1, "chaos": 0}).json()["episode_id"]
        body = {"episode_id": episode_id, "action": ACTIONS[0]}
        assert http.post(f"{running.url}/step", json=body).status_code == 200
        hung = service_process(running.process.pid, "ticketdesk")
        os.kill(hung, signal.SIGSTOP)
        try:
            with ThreadPoolExecutor(1) as beside:
                step = beside.submit(http.post, f"{running.url}/step", json=body, timeout=20)
                _until_in_flight(running)
                began_at = time.monotonic()
                code, _ = running.stop()
                took_s = time.monotonic() - began_at
            if step_timeout_s == ENDS_BEFORE_THE_DRAIN:
                assert step.result().json()["observation"]["error"]["message"].startswith("infra-error")
            else:
                assert (step.result().status_code, step.result().json()["code"]) == (504, "unanswered")
        finally:
            with suppress(ProcessLookupError):
                os.kill(hung, signal.SIGKILL)
    assert (code, took_s < STOP_DEADLINE_S) == (0, True), took_s


def _until_in_flight(running: Gateway) -> None:
    with requests.Session() as http:
        http.trust_env = False
        deadline = time.monotonic() + DEADLINE_S
        while "companyos_requests_in_flight 1.0" not in http.get(f"{running.url}/metrics", timeout=5).text:
            assert time.monotonic() < deadline
            time.sleep(POLL_S)


WEEK = "shift-week"


@pytest.mark.parametrize(("seed", "chaos"), [(0, 1), pytest.param(1, 4, marks=pytest.mark.matrix)])
def test_a_week_with_forks_and_kills_ends_like_an_undisturbed_one(
    tmp_path: Path, http: requests.Session, seed: int, chaos: int
) -> None:
    with open_player(tmp_path / "undisturbed") as play_all:
        (kept,) = play_all([EpisodeSpec(scenario=WEEK, player=fair_player(WEEK), seed=seed, chaos=chaos)])
    assert kept.result.success
    steps = [(one.tool, one.arguments) for one in kept.step_records]
    first, second = steps[: len(steps) // 2], steps[len(steps) // 2 :]
    with gateway(tmp_path / "killed", http) as running:
        week = HttpEpisode(running.url, http)
        week.reset(scenario=WEEK, seed=seed, chaos=chaos)
        for tool, arguments in first:
            week.step(tool, **arguments)
        taken = http.post(f"{running.url}/v1/episodes/{week.id}/snapshots").json()["id"]
    with gateway(tmp_path / "killed", http) as running:  # the first one was ended by SIGKILL
        week.url = running.url
        (opened,) = http.post(f"{running.url}/v1/snapshots/{taken}/fork", json={"count": 1}).json()
        fork = HttpEpisode(running.url, http, opened["episode_id"], list(week.observed))
        for episode in (week, fork):
            for tool, arguments in second:
                episode.step(tool, **arguments)
            assert episode.state()["success"]
            assert episode.state()["return"] == pytest.approx(kept.result.return_)
    assert week.observed == fork.observed
