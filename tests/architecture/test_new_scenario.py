"""A scenario is one new folder and a chaos level one new file: the Task API, the proof and the documents find both."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import companyos_gateway
import companyos_players
import verification

pytestmark = pytest.mark.integration

PACKAGE = Path(companyos_gateway.__file__).parent
PLAYERS = Path(companyos_players.__file__).parent
VERIFICATION = Path(str(verification.__file__)).parent
MODEL, NAME = "expense_report", "petty_cash"
LEVEL = 5
_NAMED = re.compile(rf'^( *name\b[^=\n]*= )"{MODEL}"', re.MULTILINE | re.IGNORECASE)

LOOK = f"""
import asyncio, json
from verification.proof import play
from verification.reference.scenarios_page import scenarios_page
from companyos_gateway.scenarios import catalogue
from companyos_players.registry import fair_player
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.api.openenv_environment import CompanyOSEnvironment
from companyos_gateway.settings import Settings


async def look():
    runtime = GatewayRuntime(Settings(start_timeout_s=120))
    async with runtime.running():
        environment, engine = CompanyOSEnvironment(runtime), runtime.engine()
        tasks = environment.list_tasks("test")
        task = next(task for task in tasks if (task["scenario"], task["chaos"]) == ("{NAME}", {LEVEL}))
        seed = engine.task_set.seed(engine.task_set.find(task["id"]))
        played = await play(engine, "{NAME}", "fair", fair_player("{NAME}"), seed=seed, chaos={LEVEL})
        told = environment.get_task("test", task["index"])
        return {{"task": told, "success": played.success, "kinds": sorted(played.kinds)}}


print(json.dumps(asyncio.run(look()) | {{"page": scenarios_page(catalogue())}}))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the gateway with one more folder and one more file, and nothing else changed."""
    root = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__")
    package, players, _ = (
        Path(shutil.copytree(source, root / source.name, ignore=ignored)) for source in (PACKAGE, PLAYERS, VERIFICATION)
    )
    shutil.copytree(package / "scenarios" / MODEL, package / "scenarios" / NAME)
    shutil.copy(players / "scenarios" / f"{MODEL}.py", players / "scenarios" / f"{NAME}.py")
    for file in (*(package / "scenarios" / NAME).rglob("*.py"), *players.rglob(f"{NAME}.py")):
        text = _NAMED.sub(rf'\1"{NAME}"', file.read_text())
        file.write_text(text.replace(f"scenarios.{MODEL}", f"scenarios.{NAME}"))
    profiles = package / "chaos" / "profiles"
    storm = (profiles / "storm.toml").read_text()
    (profiles / "hurricane.toml").write_text(storm.replace('"storm"', '"hurricane"').replace("level = 4", "level = 5"))
    return root


def _run(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(copy), os.environ.get("PYTHONPATH", "")])}
    return subprocess.run([sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def seen(copy: Path) -> dict[str, Any]:
    done = _run(copy, "-c", LOOK)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_task_api_lists_it_at_every_level(seen: dict[str, Any]) -> None:
    task = seen["task"]
    assert (task["group"], task["chaos"], task["difficulty"]) == (NAME, LEVEL, "hurricane")
    assert task["brief"]


def test_it_is_solved_under_the_new_profile(seen: dict[str, Any]) -> None:
    assert seen["success"]
    assert seen["kinds"]


def test_the_documents_list_it(seen: dict[str, Any]) -> None:
    assert f"\n| [{NAME}](" in seen["page"]
    assert "5 hurricane" in seen["page"]


def test_the_proof_verifies_it(copy: Path) -> None:
    rows = [argument for row in "AB" for argument in ("--row", row)]
    sizes = ("--size", "smoke", "--seeds", "1", "--cheat-seeds", "1", "--levels", str(LEVEL), "--processes", "1")
    done = _run(copy, "-m", "verification.proof", "--scenario", NAME, *rows, *sizes)
    assert [line for line in done.stdout.splitlines() if line.startswith("NO")] == []
    assert "yes A both oracles succeed in every instance" in done.stdout, done.stdout + done.stderr
