"""Several workers behind one address: connections are balanced, and every request reaches its episode."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import requests
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from websockets.sync.client import ClientConnection, connect

from companyos.client import CompanyOSEnv
from companyos.enterprise import Enterprise, EnterpriseError
from companyos.errors import ApiError
from companyos.options import ResetArguments
from companyos.runner import EpisodePlan
from companyos.runner.batch import play_all
from companyos.trainer import Trainer
from companyos_gateway.scenarios.catalogue import builtin_names
from tests.integration.http_episode import HttpEpisode
from verification.process_stats import process_tree

SESSIONS = 8
READ = "ticketdesk_list_tickets"
TOKEN = "t" * 32
TRAINER = {"Authorization": f"Bearer {TOKEN}"}
RESTART_DEADLINE_S = 60.0


async def _sessions(url: str, count: int) -> list[CompanyOSEnv]:
    sessions = []
    for seed in range(count):
        session = CompanyOSEnv(url)
        await session.connect()
        await session.reset(scenario="expense_report", seed=seed)
        sessions.append(session)
    return sessions


def _snapshots_of_both_workers(url: str, http: requests.Session, name: str) -> dict[str, str]:
    """Start an episode on each worker, and return the id of a snapshot of each by the id of the episode."""
    snapshots = {}
    for episode_id in (f"{name}-0", f"{name}-4"):  # the last bits of their checksums differ
        assert http.post(f"{url}/reset", json={"seed": 1, "episode_id": episode_id}).ok
        snapshots[episode_id] = http.post(f"{url}/v1/episodes/{episode_id}/snapshots").json()["id"]
    return snapshots


def _socket_url(url: str) -> str:
    return f"{url.replace('http', 'ws', 1)}/ws"


def _exchange(socket: ClientConnection, message: Any) -> Any:
    """Send a message over a WebSocket, and return its answer."""
    socket.send(json.dumps(message))
    return json.loads(socket.recv(RESTART_DEADLINE_S))


def _metric(http: requests.Session, url: str, name: str) -> dict[str, float]:
    """Return a metric's value by worker."""
    page = http.get(f"{url}/metrics").text
    return {number: float(value) for number, value in re.findall(rf'^{name}{{worker="(\d+)"}} (\S+)$', page, re.M)}


def _wait_until_ready(url: str, http: requests.Session) -> None:
    deadline = time.monotonic() + RESTART_DEADLINE_S
    while http.get(f"{url}/readyz").status_code != 200:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _worker_process(enterprise: Enterprise, data_dir: Path) -> int:
    """Return the process id of the worker with this data folder."""
    setting = f"COMPANYOS_DATA_DIR={data_dir}".encode()
    assert enterprise.pid is not None
    return next(
        pid
        for pid, name in process_tree(enterprise.pid).items()
        if name == "gateway" and setting in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    )


class PlanWithFollowing(EpisodePlan):
    """An episode whose reset prefetches the next tasks."""

    @property
    def reset_arguments(self) -> ResetArguments:
        return {**super().reset_arguments, "prefetch": 2}


@pytest.mark.timeout(300)
async def test_workers_with_prefetching_play_the_same_episodes_as_one_gateway(workers: Enterprise, url: str) -> None:
    seeds = dict.fromkeys(sorted(builtin_names()), (3, 4))

    async def digests(url: str, kind: type[EpisodePlan]) -> list[str]:
        plans = [
            kind(scenario=name, seed=seed, chaos=3, policy="oracle") for name, given in seeds.items() for seed in given
        ]
        return [episode.record.digest for episode in await play_all(url, plans, parallel=SESSIONS)]

    assert await digests(workers.url, PlanWithFollowing) == await digests(url, EpisodePlan)


def test_all_processes_of_workers_use_batch_scheduling(workers: Enterprise) -> None:
    assert workers.pid is not None
    processes = process_tree(workers.pid)
    assert set(processes.values()) >= {"router", "gateway", "ticketdesk"}
    assert {os.sched_getscheduler(process) for process in processes} == {os.SCHED_BATCH}


async def test_sessions_are_distributed_evenly(workers: Enterprise, http: requests.Session) -> None:
    sessions = await _sessions(workers.url, SESSIONS)
    try:
        assert _metric(http, workers.url, "companyos_worker_websockets") == {"1": SESSIONS / 2, "2": SESSIONS / 2}
        live = {episode["episode_id"] for episode in http.get(f"{workers.url}/v1/episodes").json()}
        assert {(await session.state()).episode_id for session in sessions} <= live
    finally:
        for session in sessions:
            await session.close()


async def test_forked_and_resumed_episodes_are_routed_to_their_worker(workers: Enterprise) -> None:
    session, other = await _sessions(workers.url, 2)
    await session.call_tool(READ)
    snapshot = await session.snapshot()
    forks = await session.fork(snapshot.id, 4)
    assert [(await fork.state()).step_count for fork in forks] == [1] * 4
    assert [(await fork.call_tool(READ)).reward for fork in forks] == [-0.1] * 4
    for resumed in (session, other):
        before = await resumed.state()
        await resumed.resume()
        assert (await resumed.state()).episode_id == before.episode_id
    await other.close()
    await session.close()


async def test_episodes_of_any_worker_can_be_resumed_and_forked_over_sockets_and_http(
    workers: Enterprise, http: requests.Session
) -> None:
    made = []
    for seed in range(4):
        created = http.post(f"{workers.url}/v1/episodes", json={"seed": seed}).json()
        snapshot = http.post(f"{workers.url}/v1/episodes/{created['episode_id']}/snapshots").json()["id"]
        made.append((created["episode_id"], created["token"], snapshot))
    async with CompanyOSEnv(workers.url) as session:
        for episode_id, token, snapshot in made:
            await session.reset(injected_state={"snapshot": snapshot})
            assert (await session.state()).episode_id != episode_id
            await session.reset(resume=token)
            assert (await session.state()).episode_id == episode_id
            assert (await session.call_tool(READ)).done is False
    for path in ("/reset", "/v1/episodes"):
        for _, _, snapshot in made:
            forked = http.post(f"{workers.url}{path}", json={"injected_state": {"snapshot": snapshot}})
            assert forked.ok
            assert http.post(f"{workers.url}{path}", json={"resume": forked.json()["token"]}).ok
    for seed in range(3):
        episode = HttpEpisode(workers.url, http)
        episode.reset(seed=seed)
        restored = http.post(f"{workers.url}/v1/episodes/{episode.id}/restore", json={"snapshot": "f" * 32})
        assert restored.json()["code"] == "unknown-snapshot"


def test_a_viewer_that_disconnects_closes_its_connection_to_the_worker(
    workers: Enterprise, http: requests.Session
) -> None:
    episode = HttpEpisode(workers.url, http)
    episode.reset(seed=1)
    assert workers.pid is not None
    descriptors = Path(f"/proc/{workers.pid}/fd")
    before = len(list(descriptors.iterdir()))
    for _ in range(20):
        with http.get(f"{workers.url}/console/episodes/{episode.id}/events", stream=True, timeout=30) as events:
            assert events.status_code == 200
            next(events.iter_content(1))
    deadline = time.monotonic() + RESTART_DEADLINE_S
    while len(list(descriptors.iterdir())) > before + 5:
        assert time.monotonic() < deadline
        time.sleep(0.1)


async def test_an_unknown_episode_has_the_same_error_as_with_one_gateway(
    workers: Enterprise, http: requests.Session
) -> None:
    async with CompanyOSEnv(workers.url) as session:
        with pytest.raises(ApiError, match="unknown-episode"):
            await session.reset(resume="x" * 43)
        await session.reset(scenario="expense_report", seed=1)
        assert (await session.call_tool(READ)).done is False
    answer = http.get(f"{workers.url}/v1/episodes/nowhere")
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown-episode")


async def test_every_transport_reaches_the_episode(workers: Enterprise, http: requests.Session) -> None:
    url = workers.url
    for _ in range(2):
        session = (await _sessions(url, 1))[0]
        state = await session.state()
        path = f"{url}/v1/episodes/{state.episode_id}"
        episode = HttpEpisode(url, http, id=str(state.episode_id))
        assert http.get(path).json()["seed"] == 0
        assert episode.state()["episode_id"] == state.episode_id
        assert episode.step(READ)["reward"] == -0.1
        assert http.get(f"{path}/apps").status_code == 200
        assert http.get(f"{url}/console/episodes/{state.episode_id}").status_code == 200
        assert http.get(f"{path}/evidence").status_code == 200
        service_url = (await session.service_urls())["ticketdesk"]
        assert http.get(f"{service_url}/tickets").status_code == 200
        async with Client(StreamableHttpTransport(f"{path}/mcp")) as client:
            assert READ in {tool.name for tool in await client.list_tools()}
        assert (await session.verdict()).success is False
        assert http.delete(path).status_code == 204
        assert http.get(path).status_code == 404
        await session.close()


def test_a_socket_is_attached_to_the_session_that_it_names(workers: Enterprise, http: requests.Session) -> None:
    create = {"jsonrpc": "2.0", "id": 1, "method": "openenv/session/create", "params": {}}
    for _ in range(SESSIONS):
        session_id = http.post(f"{workers.url}/mcp", json=create).json()["result"]["session_id"]
        with connect(f"{_socket_url(workers.url)}?session_id={session_id}", proxy=None) as attached:
            assert _exchange(attached, {"type": "state"})["type"] == "state"
            assert _exchange(attached, {"type": "reset", "data": {"seed": 1}})["type"] == "observation"
            unknown = _exchange(attached, {"type": "reset", "data": {"resume": "x" * 43}})
            assert unknown["data"]["message"].startswith("unknown-episode")
            assert _exchange(attached, {"type": "state"})["data"]["seed"] == 1
    with connect(f"{_socket_url(workers.url)}?session_id=nowhere", proxy=None) as refused:
        assert json.loads(refused.recv())["data"]["message"] == "Unknown session_id: nowhere"


def test_an_id_in_use_is_rejected_by_every_worker(workers: Enterprise, http: requests.Session) -> None:
    answers = [
        http.post(f"{workers.url}/v1/episodes", json={"episode_id": "chosen", "seed": seed}).status_code
        for seed in range(4)
    ]
    assert answers == [201, 409, 409, 409]
    assert http.delete(f"{workers.url}/v1/episodes/chosen").status_code == 204


def test_a_fork_with_an_id_in_use_is_rejected_whichever_worker_has_the_snapshot(
    workers: Enterprise, http: requests.Session
) -> None:
    snapshots = _snapshots_of_both_workers(workers.url, http, "fork")
    for snapshot in snapshots.values():
        for path in ("/reset", "/v1/episodes"):
            for episode_id in snapshots:
                body = {"injected_state": {"snapshot": snapshot}, "episode_id": episode_id}
                answer = http.post(f"{workers.url}{path}", json=body)
                assert (answer.status_code, answer.json()["code"]) == (409, "episode-exists")
        body = {"injected_state": {"snapshot": snapshot}, "episode_id": f"free-{snapshot}"}
        assert http.post(f"{workers.url}/reset", json=body).json()["episode_id"] == f"free-{snapshot}"
    body = {"injected_state": {"snapshot": "f" * 32}, "episode_id": "fork-0"}
    assert http.post(f"{workers.url}/reset", json=body).json()["code"] == "unknown-snapshot"
    ids = [episode["episode_id"] for episode in http.get(f"{workers.url}/v1/episodes").json()]
    assert len(ids) == len(set(ids))


def test_a_snapshot_of_another_episode_cannot_be_restored_whichever_worker_has_it(
    workers: Enterprise, http: requests.Session
) -> None:
    snapshots = _snapshots_of_both_workers(workers.url, http, "restore")
    for episode_id in snapshots:
        for owner, snapshot in snapshots.items():
            answer = http.post(f"{workers.url}/v1/episodes/{episode_id}/restore", json={"snapshot": snapshot})
            if owner == episode_id:
                assert answer.json()["episode_id"] == episode_id
            else:
                assert (answer.status_code, answer.json()["code"]) == (409, "foreign-snapshot")


async def test_the_services_are_those_of_one_gateway(workers: Enterprise, url: str) -> None:
    async with Trainer(workers.url) as several, Trainer(url) as one:
        assert await several.services() == await one.services() == ["approvalflow", "datahub", "ticketdesk"]


def test_a_socket_stays_with_its_episode_if_another_worker_rejects_the_fork(
    workers: Enterprise, http: requests.Session
) -> None:
    snapshots = _snapshots_of_both_workers(workers.url, http, "rejecting")
    with connect(_socket_url(workers.url), proxy=None) as socket:
        assert _exchange(socket, {"type": "reset", "data": {"seed": 1}})["type"] == "observation"
        state = _exchange(socket, {"type": "state"})
        for episode_id, snapshot in snapshots.items():
            fork = {"injected_state": {"snapshot": snapshot}, "episode_id": episode_id}
            refused = _exchange(socket, {"type": "reset", "data": fork})
            assert refused["data"]["message"].startswith("episode-exists")
            assert _exchange(socket, {"type": "state"}) == state


def test_snapshots_of_all_workers_are_listed_and_forked(workers: Enterprise, http: requests.Session) -> None:
    made = []
    for seed in range(2):
        episode = HttpEpisode(workers.url, http)
        episode.reset(seed=seed)
        made.append(http.post(f"{workers.url}/v1/episodes/{episode.id}/snapshots").json()["id"])
    assert set(made) <= {snapshot["id"] for snapshot in http.get(f"{workers.url}/v1/snapshots").json()}
    for snapshot in made:
        forked = http.post(f"{workers.url}/v1/snapshots/{snapshot}/fork", json={"count": 2})
        assert forked.status_code == 201
        for each in forked.json():
            assert http.get(f"{workers.url}/v1/episodes/{each['episode_id']}").status_code == 200
        assert http.delete(f"{workers.url}/v1/snapshots/{snapshot}").status_code == 204


def test_invalid_input_is_rejected_as_with_one_gateway(workers: Enterprise, url: str, http: requests.Session) -> None:
    requests_of = [
        ("POST", "/reset", b"{", {}),
        ("POST", "/reset", b'{"seed": "x"}', {}),
        ("POST", "/step", b"x" * (1 << 21), {}),
        ("POST", "/nowhere", b"", {}),
        ("DELETE", "/readyz", b"", {}),
        ("GET", "/readyz", b"", {"Host": "evil.com"}),
        ("GET", "/v1/tools/?q=" + "x" * 9000, b"", {}),
        ("PUT", "/v1/episodes/" + "x" * 9000, b"", {}),
        ("GET", "/console/episodes/nowhere", b"", {}),
    ]
    for method, path, body, headers in requests_of:
        one, several = (
            http.request(method, f"{address}{path}", data=body, headers=headers, allow_redirects=False)
            for address in (url, workers.url)
        )
        assert (several.status_code, several.text) == (one.status_code, one.text), path
        assert [name for name in several.headers if name != "set-cookie"] == list(one.headers)
    assert http.get(f"{workers.url}/console?worker={'9' * 5000}").status_code == 200


async def test_a_killed_worker_is_unavailable_until_it_restarts_with_its_episodes(
    tmp_path: Path, http: requests.Session
) -> None:
    with Enterprise(workers=2, data_dir=tmp_path, alone=True) as enterprise:
        sessions = await _sessions(enterprise.url, 4)
        for session in sessions:
            await session.call_tool(READ)
        paths = [f"{enterprise.url}/v1/episodes/{(await session.state()).episode_id}" for session in sessions]
        os.kill(_worker_process(enterprise, tmp_path / "worker-2"), signal.SIGKILL)
        readiness = http.get(f"{enterprise.url}/readyz")
        assert readiness.status_code == 503
        assert set(readiness.json()["services"].values()) == {"not ready"}
        assert http.get(f"{enterprise.url}/v1/episodes/nowhere").status_code == 503
        assert sorted(http.get(path).status_code for path in paths) == [200, 200, 503, 503]
        assert http.post(f"{enterprise.url}/v1/episodes", json={"episode_id": "chosen"}).status_code == 503
        assert http.post(f"{enterprise.url}/v1/episodes", json={"seed": 1}).status_code == 201
        _wait_until_ready(enterprise.url, http)
        assert [http.get(path).status_code for path in paths] == [200] * 4
        lost = 0
        for session in sessions:
            try:
                await session.state()
            except ConnectionError:
                lost += 1
                await session.resume()
        assert lost == 2
        assert [(await session.state()).step_count for session in sessions] == [1] * 4
        assert [(await session.call_tool(READ)).reward for session in sessions] == [-0.1] * 4
        assert _metric(http, enterprise.url, "companyos_worker_restarts") == {"1": 0, "2": 1}
        for session in sessions:
            await session.close()
        members = process_tree(enterprise.pid or 0)
        assert Counter(members.values())["gateway"] == 2
    await asyncio.sleep(0.2)
    assert not [pid for pid in members if Path(f"/proc/{pid}").exists()]


def test_a_browser_signs_in_once_for_all_workers(http: requests.Session) -> None:
    settings = {"COMPANYOS_TRAINER_TOKEN": TOKEN}
    with Enterprise(workers=2, settings=settings, alone=True) as enterprise:
        started = [
            http.post(f"{enterprise.url}/v1/episodes", json={"seed": seed}, headers=TRAINER).json() for seed in range(2)
        ]
        with requests.Session() as browser:
            browser.trust_env = False
            assert browser.get(f"{enterprise.url}/console/").status_code == 403
            assert browser.get(f"{enterprise.url}/console/?token={TOKEN}").status_code == 200
            listed = ""
            for worker in (1, 2):
                page = browser.get(f"{enterprise.url}/console/?worker={worker}").text
                assert re.search(rf'aria-current="page">Worker {worker}<', page)
                listed += page
            for episode in started:
                assert f"episode-{episode['episode_id']}" in listed
                assert browser.get(f"{enterprise.url}/console/episodes/{episode['episode_id']}").status_code == 200
        for path in ("/v1/episodes", "/metrics", f"/v1/episodes/{started[0]['episode_id']}"):
            assert http.get(f"{enterprise.url}{path}").status_code == 401
        keys = [http.get(f"{enterprise.url}/v1/evidence-key", headers=TRAINER).json() for _ in range(4)]
        assert keys == keys[:1] * 4


def test_an_unusable_folder_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "worker-2").touch()
    with pytest.raises(EnterpriseError, match=f"^the data folder {tmp_path} cannot be used: Not a directory"):
        Enterprise(workers=2, data_dir=tmp_path, alone=True).__enter__()


def test_two_gateways_with_one_folder_are_rejected_in_one_line(workers: Enterprise) -> None:
    with pytest.raises(EnterpriseError, match="gateway is in use by process"):
        Enterprise(workers=2, data_dir=workers._data_dir, alone=True).__enter__()
