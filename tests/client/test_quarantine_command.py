"""`companyos up` on a damaged folder, and `companyos quarantine`: real processes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from companyos.log_file import MAX_KEPT_LOGS, LogFile
from tests.client.test_up_keep import _take_step, _url, running_up

pytestmark = pytest.mark.integration


def companyos(*arguments: str) -> subprocess.CompletedProcess[str]:
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
        (item,) = json.loads(companyos("quarantine", "list", "--json", "--url", url).stdout)
        assert (item["episode_id"], item["reason"]) == ("main", "damaged")
        assert "does not match its checksum" in companyos("quarantine", "show", "main", "--url", url).stdout
        assert companyos("quarantine", "remove", "main", "--url", url).returncode == 2
        assert companyos("quarantine", "show", "nobody", "--url", url).returncode == 2
        (moved,) = (tmp_path / "companyos" / "gateway" / "quarantine").glob("*/episode/manifest.json")
        moved.write_bytes(whole)
        restored = companyos("quarantine", "restore", "main", "--url", url)
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
