"""`companyos up --keep`: one named episode across restarts, a client that continues it, and `companyos quarantine`."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from companyos.cli.up import default_data_dir
from companyos.client import CompanyOSEnv
from companyos.enterprise import Enterprise
from companyos.log_file import MAX_KEPT_LOGS, LogFile
from tests.client.test_up import signal_enabled

pytestmark = pytest.mark.integration

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
STOP_WITHIN_S = 15.0


@contextmanager
def running_up(home: Path, *options: str) -> Iterator[str]:
    """Run `up --keep` with its own data folder below `home`, and yield its output."""
    command = [sys.executable, "-m", "companyos", "up", "--keep", "--port", "0", *options]
    environment = {**os.environ, "XDG_DATA_HOME": str(home)}
    with signal_enabled(signal.SIGINT), ExitStack() as stack:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        stack.callback(process.communicate)
        stack.callback(process.kill)
        assert process.stdout is not None
        yield _read_output(process.stdout)
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(STOP_WITHIN_S) == 0


def _read_output(stream: IO[str]) -> str:
    lines = []
    for line in stream:
        lines.append(line)
        if "Ctrl-C" in line:
            return "".join(lines)
    raise AssertionError("".join(lines))


def _url(message: str) -> str:
    found = re.search(r"page +(http://[\d.:]+)", message)
    assert found is not None
    return found[1]


def _take_step(message: str, episode: str = "main") -> dict[str, Any]:
    """Take the step that the output shows as a curl command for `main`."""
    found = re.search(r"curl -s (\S+/step) -d '(.*)'", message)
    assert found is not None
    return _post(found[1], {**json.loads(found[2]), "episode_id": episode})


def _post(url: str, body: dict[str, Any]) -> dict[str, Any]:
    with OPENER.open(urllib.request.Request(url, json.dumps(body).encode(), method="POST")) as answer:
        content: dict[str, Any] = json.load(answer)
        return content


def test_a_kept_episode_continues_after_a_restart_and_its_folder_is_locked(
    tmp_path: Path,
) -> None:
    known = {"episode_id": "known", "scenario": "vendor_onboarding", "seed": 7, "chaos": 0}  # `main` may have an outage
    with running_up(tmp_path) as message:
        assert f"{tmp_path}/companyos" in message
        _check_folder_in_use(tmp_path / "companyos")
        assert re.search(r"episode +main: vendor_onboarding, seed \d+, step 0 of 150", message)
        seed = re.search(r"seed (\d+)", message)
        assert _take_step(message)["observation"]["error"] is None
        _post(f"{_url(message)}/reset", known)
        first = _take_step(message, "known")
        assert first["observation"]["error"] is None
    with running_up(tmp_path, "--episode", "main", "--data-dir", str(tmp_path / "companyos")) as message:
        assert seed is not None
        assert f"main: vendor_onboarding, {seed[0]}, step 1 of 150" in message
        again = _take_step(message, "known")
        assert again["observation"]["result"] == first["observation"]["result"]
        assert again["observation"]["steps_left"] == first["observation"]["steps_left"] - 1
        _take_step(message)
        for episode in ("main", "known"):
            with OPENER.open(f"{_url(message)}/v1/episodes/{episode}") as answer:
                assert json.load(answer)["step_count"] == 2


def _check_folder_in_use(folder: Path) -> None:
    command = [sys.executable, "-m", "companyos", "up", "--keep", "--port", "0", "--data-dir", str(folder)]
    second = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert second.returncode == 1
    assert second.stderr.splitlines()[-1].startswith(f"error: The folder {folder}/gateway is in use by process ")
    assert "Traceback" not in second.stderr


async def test_a_client_resumes_its_episode_after_a_restart_of_the_gateway(tmp_path: Path) -> None:
    first = Enterprise(data_dir=tmp_path, alone=True)
    with first:
        port = int(first.url.rpartition(":")[2])
        env = CompanyOSEnv(base_url=first.url)
        await env.reset(scenario="vendor_onboarding", seed=7, chaos=1)
        last = await env.call_tool("ticketdesk_list_tickets")
        await asyncio.to_thread(first.stop)
    resuming = asyncio.create_task(env.resume(within_s=60))
    second = Enterprise(port=port, data_dir=tmp_path, alone=True)
    try:
        await asyncio.to_thread(second.__enter__)
        assert await resuming == last
        assert (await env.state()).step_count == 1
        await env.close()
    finally:
        await asyncio.to_thread(second.stop)


def test_the_default_folder_is_in_the_data_folder_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_data_dir() == tmp_path / "companyos"
    for missing in ("", "relative/path"):
        monkeypatch.setenv("XDG_DATA_HOME", missing)
        assert default_data_dir() == Path.home() / ".local" / "share" / "companyos"


def run_companyos(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "companyos", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def test_a_damaged_kept_episode_is_reported_and_restored_after_a_repair(tmp_path: Path) -> None:
    with running_up(tmp_path) as message:
        _take_step(message)
        seed = re.search(r"seed (\d+)", message)
    assert seed is not None
    (manifest,) = (tmp_path / "companyos" / "gateway" / "episodes").glob("*/manifest.json")
    whole = manifest.read_bytes()
    manifest.write_bytes(whole[:100])
    with running_up(tmp_path) as message:
        assert "'main' is in quarantine" in message
        assert "1 item in quarantine" in message
        log = re.search(r"log +(/\S+)", message)
        assert log is not None
        assert "to quarantine" in Path(log[1]).read_text()
        url = _url(message)
        (item,) = json.loads(run_companyos("quarantine", "list", "--json", "--url", url).stdout)
        assert (item["episode_id"], item["reason"]) == ("main", "damaged")
        assert "does not match its checksum" in run_companyos("quarantine", "show", "main", "--url", url).stdout
        assert run_companyos("quarantine", "remove", "main", "--url", url).returncode == 2
        assert run_companyos("quarantine", "show", "nobody", "--url", url).returncode == 2
        (moved,) = (tmp_path / "companyos" / "gateway" / "quarantine").glob("*/episode/manifest.json")
        moved.write_bytes(whole)
        restored = run_companyos("quarantine", "restore", "main", "--url", url)
        assert restored.returncode == 0, restored.stderr
    with running_up(tmp_path) as message:
        assert f"episode     main: vendor_onboarding, seed {seed[1]}, step 1" in message
        assert "in quarantine" not in message


def test_only_the_newest_logs_are_kept_and_they_are_private(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for number in range(MAX_KEPT_LOGS + 3):
        (tmp_path / "logs" / f"gateway-20260101T0000{number:02}-1.log").touch()
    (tmp_path / "logs" / "mine.log").touch()
    log = LogFile(tmp_path)
    log.close()
    kept = {path.name for path in (tmp_path / "logs").iterdir()}
    assert len(kept) == MAX_KEPT_LOGS + 1
    assert {"mine.log", log.path.name} <= kept
    assert oct(os.stat(log.path).st_mode & 0o777) == "0o600"


def test_a_log_without_a_data_folder_is_kept_only_after_a_failure() -> None:
    for is_wrong in (False, True):
        log = LogFile(None)
        if is_wrong:
            log.keep()
        log.close()
        assert log.path.exists() is is_wrong
        log.path.unlink(missing_ok=True)
