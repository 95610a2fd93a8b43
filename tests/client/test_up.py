"""`companyos up`, the embedded enterprise and services as child processes: real processes, all of which end."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from companyos.enterprise import Enterprise, EnterpriseError
from companyos.server_process import HOST
from companyos.services import ServiceProcess
from verification.process_stats import process_tree

pytestmark = pytest.mark.integration

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
GONE_WITHIN_S = 15.0


@contextmanager
def signal_enabled(number: signal.Signals) -> Iterator[None]:
    """Enable a signal for new processes even if a shell ignores it for its background jobs."""
    before = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(number, before)


@pytest.fixture
def up(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "companyos", "up", "--port", "0", "--data-dir", str(tmp_path / "data")]
    with signal_enabled(signal.SIGINT):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.communicate()


def address(up: subprocess.Popen[str]) -> str:
    assert up.stdout is not None
    for line in up.stdout:
        if found := re.search(r"http://[\d.:]+", line):
            return found[0]
    raise AssertionError(up.stderr.read() if up.stderr else "")


def gone(processes: set[int]) -> bool:
    deadline = time.monotonic() + GONE_WITHIN_S
    while any(Path(f"/proc/{process}").exists() for process in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are counted in /proc")
def test_up_serves_until_it_is_stopped_and_leaves_no_process(up: subprocess.Popen[str]) -> None:
    url = address(up)
    with OPENER.open(f"{url}/health") as answer:
        assert json.load(answer)["status"] == "healthy"
    below = process_tree(up.pid).keys() - {up.pid}
    assert len(below) == 5  # the gateway, the host of the services, three services
    os.kill(up.pid, signal.SIGINT)
    assert up.wait(GONE_WITHIN_S) == 0
    assert gone(below)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are counted in /proc")
def test_up_ignores_the_hangup_of_its_terminal_under_nohup(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "companyos", "up", "--port", "0", "--data-dir", str(tmp_path / "data")]
    process = subprocess.Popen(["nohup", *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        url = address(process)
        os.kill(process.pid, signal.SIGHUP)
        with OPENER.open(f"{url}/health") as answer:
            assert json.load(answer)["status"] == "healthy"
        assert process.poll() is None
        below = process_tree(process.pid).keys() - {process.pid}
        assert len(below) == 5  # the gateway, the host of the services, three services
        process.terminate()
        assert process.wait(GONE_WITHIN_S) == 0
        assert gone(below)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are counted in /proc")
def test_no_process_outlives_a_killed_parent(up: subprocess.Popen[str]) -> None:
    address(up)
    below = process_tree(up.pid).keys() - {up.pid}
    assert len(below) == 5  # the gateway, the host of the services, three services
    up.kill()
    assert gone(below)


def test_a_gateway_that_exits_is_reported_with_its_last_output(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "companyos_gateway.py").write_text("raise SystemExit('the roof is on fire')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(EnterpriseError, match=r"(?s)exited with status 1.*the roof is on fire"), Enterprise():
        pass


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="the environment of a process is read in /proc")
def test_the_gateway_does_not_inherit_the_key_of_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "a key for models")
    enterprise = Enterprise().start()
    try:
        assert b"a key for models" not in (Path("/proc") / str(enterprise.pid) / "environ").read_bytes()
    finally:
        enterprise.stop()


def test_no_other_process_can_take_the_port_of_a_starting_server() -> None:
    process = ServiceProcess("ticketdesk", "companyos_ticketdesk.main:app")
    try:
        port = int(process.start().url.rpartition(":")[2])
        with pytest.raises(OSError, match="in use"):
            socket.create_server((HOST, port))
        process.wait_until_ready()
    finally:
        process.stop()
    socket.create_server((HOST, port)).close()


def test_a_server_starts_although_the_standard_input_of_its_parent_is_closed() -> None:
    code = "from companyos.services import run_services\nwith run_services() as urls: print(*urls)"
    command = f"{sys.executable} -c '{code}' <&-"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True)
    assert "ticketdesk" in done.stdout, done.stderr
