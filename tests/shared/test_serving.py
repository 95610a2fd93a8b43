"""A served process: its output and its exit. The app is a few lines of ASGI, everything else is real."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests

pytestmark = pytest.mark.integration

HOST = "127.0.0.1"
DEADLINE_S = 30.0

APP = """
import asyncio, logging

log = logging.getLogger("companyos_slow")
drained = []

async def drain():
    log.info("draining")
    await asyncio.sleep(0.3)
    drained.append(True)

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                if START_FAILS:
                    await send({"type": "lifespan.startup.failed", "message": "there is no room"})
                    return
                scope["state"]["companyos.drain"] = drain
                await send({"type": "lifespan.startup.complete"})
            else:
                log.info("down", extra={"drained": bool(drained)})
                await send({"type": "lifespan.shutdown.complete"})
                return
    if scope["path"] == "/slow":
        log.info("slow")
        await asyncio.sleep(1.0)
    answer = b"drained" if drained else b"served"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(answer))]})
    await send({"type": "http.response.body", "body": answer})
"""


class Served:
    """A running process."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process = process
        self.url = url

    def stop(self, by: signal.Signals = signal.SIGTERM) -> tuple[int, list[dict[str, Any]]]:
        """Send a signal, and return the exit code and all output lines of the process."""
        self.process.send_signal(by)
        _, written = self.process.communicate(timeout=DEADLINE_S)
        return self.process.returncode, [json.loads(line) for line in written.splitlines()]


@contextmanager
def served(folder: Path, *, start_fails: bool = False) -> Iterator[Served]:
    (folder / "companyos_slow.py").write_text(f"START_FAILS = {start_fails}\n{APP}")
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "companyos_shared.serving", "companyos_slow:app", "--port", str(port)],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(folder)},
    )
    try:
        yield Served(process, f"http://{HOST}:{port}")
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def running(tmp_path: Path, http: requests.Session) -> Iterator[Served]:
    with served(tmp_path) as process:
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            try:
                http.get(process.url, timeout=5)
                break
            except requests.ConnectionError:
                time.sleep(0.05)
        yield process


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_a_process_that_receives_a_stop_signal_drains_and_exits_with_0(running: Served, by: signal.Signals) -> None:
    code, lines = running.stop(by)
    assert code == 0
    events = [line["event"] for line in lines]
    assert events.index("draining") < events.index("down")
    assert next(line for line in lines if line["event"] == "down")["drained"] is True
    assert {line["process"] for line in lines} == {"slow"}


def test_a_request_in_flight_is_answered_after_a_stop_signal(running: Served, http: requests.Session) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", f"import urllib.request as u; print(u.urlopen('{running.url}/slow').read().decode())"],
        stdout=subprocess.PIPE,
        text=True,
        env={"NO_PROXY": "*"},
    ) as client:
        assert running.process.stderr is not None
        before = iter(running.process.stderr.readline, "")
        assert any(json.loads(line)["event"] == "slow" for line in before)
        code, _ = running.stop()
        assert client.stdout is not None
        assert client.stdout.read().strip() == "drained"
    assert code == 0


def test_new_requests_are_answered_while_the_app_drains(running: Served, http: requests.Session) -> None:
    running.process.send_signal(signal.SIGTERM)
    assert running.process.stderr is not None
    assert any(json.loads(line)["event"] == "draining" for line in iter(running.process.stderr.readline, ""))
    assert http.get(running.url, timeout=5).text == "served"
    running.process.communicate(timeout=DEADLINE_S)


def test_an_app_that_fails_to_start_ends_the_process_with_3(tmp_path: Path) -> None:
    with served(tmp_path, start_fails=True) as process:
        _, written = process.process.communicate(timeout=DEADLINE_S)
    assert process.process.returncode == 3
    assert any("there is no room" in json.loads(line)["event"] for line in written.splitlines())
