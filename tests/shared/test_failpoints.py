"""Fail-points: a process exits at the configured place and pass; a service then reaches the same end."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from companyos_shared.failpoints import VARIABLE, parse_failpoint
from companyos_shared.framework.testing import ServiceHarness
from tests.shared.conftest import LIBRARY

PASSES = "from companyos_shared.failpoints import failpoint\nfor n in '123': failpoint('a.b'); print(n, flush=True)"


def _run(setting: str | None, *program: str) -> tuple[int, str]:
    """Run a Python program with arguments, and return its exit code and its output without line breaks."""
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    if setting is not None:
        environment[VARIABLE] = setting
    command = [sys.executable, "-c", *program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout.replace("\n", "")


@pytest.mark.parametrize("setting", [None, "", "a.c", "a.b:4"])
def test_a_process_without_a_matching_failpoint_continues(setting: str | None) -> None:
    assert _run(setting, PASSES) == (0, "123")


@pytest.mark.parametrize(("setting", "survived"), [("a.b", ""), ("a.b:1", ""), ("a.b:3", "12")])
def test_a_process_is_killed_at_the_configured_failpoint(setting: str, survived: str) -> None:
    assert _run(setting, PASSES) == (-signal.SIGKILL, survived)


@pytest.mark.parametrize("setting", ["a.b:", "a.b:0", "a.b:x", ":2"])
def test_an_invalid_failpoint_setting_is_rejected(setting: str) -> None:
    with pytest.raises(ValueError, match="name:nth"):
        parse_failpoint(setting)


PLACES = [
    "service.epoch.before",
    "service.epoch.after",
    "service.commit.before",
    "service.commit.after",
    "service.commit.before:2",
    "service.commit.after:2",
    "service.reply.before",
    "service.reply.before:2",
    "service.snapshot.before",
    "service.snapshot.after",
]
EPISODE_SCRIPT = """
import asyncio, sys
from datetime import timedelta
from pathlib import Path
from companyos_shared.framework.testing import ServiceHarness
from tests.shared.conftest import LIBRARY

async def live():
    async with ServiceHarness(LIBRARY, folder=Path(sys.argv[1])) as library:
        await library.post("/books/B-1/lend")
        await library.advance(minutes=24 * 60)
        await library.get("/books/B-1")
        await library.snapshot()
        print("survived")

asyncio.run(live())
"""


async def _carried_on(folder: Path) -> tuple[str, str, list[str]]:
    """Restart on the files, complete the same calls, and return the final state."""
    async with ServiceHarness(LIBRARY, folder=folder) as library:
        assert not list(folder.rglob("*.tmp*"))
        answer = await library.post("/books/B-1/lend", step=1)
        assert answer.status_code == 200, answer.text
        library.step = 1
        await library.advance(minutes=24 * 60)
        evidence = await library.evidence()
        source = await library.snapshot()
        kept = [path.stem for path in folder.glob("*/snapshots/*")]
        for path in folder.glob("*/snapshots/*"):
            assert hashlib.sha256(path.read_bytes()).hexdigest() == path.stem
        assert source in kept
        return evidence.model_dump_json(), answer.text, [path.name for path in folder.glob("*/episodes/*/*.db")]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the state after an uninterrupted run."""
    folder = tmp_path_factory.mktemp("whole")
    assert _run(None, EPISODE_SCRIPT, str(folder)) == (0, "survived")
    return folder


@pytest.mark.integration
@pytest.mark.parametrize("place", PLACES)
async def test_a_process_killed_at_any_failpoint_reaches_the_same_end(place: str, whole: Path, tmp_path: Path) -> None:
    assert _run(place, EPISODE_SCRIPT, str(tmp_path)) == (-signal.SIGKILL, "")
    assert await _carried_on(tmp_path) == await _carried_on(whole)
