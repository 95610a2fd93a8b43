"""Tokens over real connections: accepted and rejected requests, their errors, and no token in any file or log."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.integration.processes import running
from verification.ports import HOST, free_port

TRAINER = "a-trainer-s-token-of-this-test-alone"
BEARER = {"Authorization": f"Bearer {TRAINER}"}
STEP: dict[str, Any] = {"action": {"tool_name": "ticketdesk_list_tickets", "arguments": {}}}


@contextmanager
def _gateway(folder: Path) -> Iterator[str]:
    """Run a gateway that requires tokens, with its data and its log in a folder."""
    port = free_port()
    command = f"exec {sys.executable} -m companyos_gateway --port {port} >>{folder}/log 2>&1"
    environment = {"COMPANYOS_TRAINER_TOKEN": TRAINER, "COMPANYOS_DATA_DIR": str(folder / "data")}
    with running(["sh", "-c", command], f"http://{HOST}:{port}", **environment) as url:
        yield url


def _code(answer: requests.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def _refusal(url: str, headers: dict[str, str]) -> tuple[int, str]:
    """Return the status and code with which a socket is refused before it opens."""
    with (
        pytest.raises(InvalidStatus) as refused,
        connect(url.replace("http", "ws", 1) + "/ws", proxy=None, additional_headers=headers),
    ):
        pass
    response = refused.value.response
    return response.status_code, json.loads(response.body)["code"]


def test_tokens_are_checked_over_tcp_and_after_a_restart(tmp_path: Path, http: requests.Session) -> None:
    with _gateway(tmp_path) as url:
        assert _code(http.post(f"{url}/reset", json={})) == (401, "token-required")
        assert _refusal(url, {}) == (401, "token-required")
        assert _refusal(url, {"Authorization": "Bearer wrong"}) == (401, "unknown-token")
        reset = http.post(f"{url}/reset", json={"seed": 1, "chaos": 0, "episode_id": "mine"}, headers=BEARER).json()
        agent = {"Authorization": f"Bearer {reset['token']}"}
        assert _refusal(url, agent) == (403, "trainer-token-required")
        assert http.post(f"{url}/step", json={"episode_id": "mine", **STEP}, headers=agent).status_code == 200
        assert _code(http.get(f"{url}/state", params={"episode_id": "mine"}, headers=agent)) == (
            403,
            "trainer-token-required",
        )
        with connect(url.replace("http", "ws", 1) + "/ws", proxy=None, additional_headers=BEARER) as socket:
            socket.send(json.dumps({"type": "state"}))
            assert json.loads(socket.recv(timeout=20))["type"] == "state"
    with _gateway(tmp_path) as url:
        assert http.post(f"{url}/step", json={"episode_id": "mine", **STEP}, headers=agent).status_code == 200
        state = http.get(f"{url}/state", params={"episode_id": "mine"}, headers=BEARER).json()
        assert (state["step_count"], state["token"]) == (2, reset["token"])
    secret = tmp_path / "data" / "gateway" / "secret"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    written = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert len(written) > 3
    for path, content in written.items():
        for hidden in (TRAINER, reset["token"], secret.read_text() if path != secret else TRAINER):
            assert hidden.encode() not in content, path
