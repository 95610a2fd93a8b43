"""The code blocks of the README, of the page on OpenEnv and of the client's README, extracted and run."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import requests

from companyos.policies import policy_names
from tests.architecture.sources import ROOT

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
OTHERS = [
    code
    for page in ("docs/openenv.md", "client/README.md")
    for code in re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
]
TRAINS = "GRPOTrainer"
"""Appears in the block that tests/train runs, because it requires PyTorch."""

PYTHON = [code for language, code in BLOCKS if language == "python" and TRAINS not in code]
SHELL = [code for language, code in BLOCKS if language == "sh"]
LINES = [line for code in SHELL for line in code.splitlines() if "bin/companyos " in line]
GATEWAY = "http://127.0.0.1:8000"
TICKETDESK = "http://127.0.0.1:8001"


def test_the_readme_has_blocks_for_both_clients_and_for_curl() -> None:
    assert any("import requests" in code for code in PYTHON)
    assert any("CompanyOSEnv" in code for code in PYTHON)
    assert any("curl" in code for code in SHELL)


def test_five_lines_with_requests_play_an_episode() -> None:
    block = next(code for code in PYTHON if "import requests" in code)
    assert len([line for line in block.splitlines() if line.strip()]) <= 5


@pytest.mark.parametrize("code", [*PYTHON, *OTHERS], ids=lambda code: code.splitlines()[0])
def test_a_python_block_runs_unchanged(url: str, code: str) -> None:
    assert GATEWAY in code
    outcome = subprocess.run(
        [sys.executable, "-W", "error", "-c", code.replace(GATEWAY, url)], capture_output=True, text=True, check=False
    )
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.strip()
    assert "error': {" not in outcome.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl on this machine")
def test_the_curl_commands_call_a_standalone_service(ticketdesk: str) -> None:
    lines = [line for code in SHELL for line in code.splitlines() if line.startswith("curl ")]
    assert lines
    for line in lines:
        assert TICKETDESK in line
        command = line.replace(TICKETDESK, ticketdesk).replace("curl ", "curl --fail --noproxy '*' ", 1)
        outcome = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
        assert outcome.returncode == 0, outcome.stderr
        assert outcome.stdout.startswith("{")


STORED_RUN = re.compile(r" (view|report) ")
"""Commands that read a stored run and need no server."""


@pytest.fixture
def kept(url: str) -> None:
    """Start the episode that the README's commands use."""
    with requests.Session() as http:
        http.trust_env = False
        assert http.post(f"{url}/reset", json={"episode_id": "main"}).status_code in (200, 409)


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("line", [line for line in LINES if not STORED_RUN.search(line)])
def test_the_commands_of_the_readme_succeed(url: str, line: str, tmp_path: Path) -> None:
    command = re.sub(r" (-n|--episodes) \d+", "", line).replace(" eval ", " eval --episodes 2 ")
    command = re.sub(r"\.venv/bin/companyos (\w+)", rf"{sys.executable} -m companyos \1 --url {url}", command)
    outcome = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert outcome.returncode == 0, outcome.stderr
    assert re.search(
        r"vendor_onboarding|shift-day|shift-week|^[0-9a-f]{24,32}\b|^[A-Z]+-\d+ ", outcome.stdout, re.MULTILINE
    )
    if "--out" in line:
        folder = tmp_path / shlex.split(line)[shlex.split(line).index("--out") + 1]
        assert len((folder / "episodes.jsonl").read_text().splitlines()) == 2
        _look_at(tmp_path)


def _look_at(folder: Path) -> None:
    """View the played run as in the README, but in the terminal, because a browser would wait for the user."""
    lines = [line.partition("#")[0] for line in LINES if STORED_RUN.search(line)]
    assert len(lines) == 2
    for line in lines:
        command = line.replace(".venv/bin/companyos", f"{sys.executable} -m companyos")
        command += " --terminal" if " view " in line else ""
        outcome = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
        assert outcome.returncode == 0, outcome.stderr
        assert "oracle" in outcome.stdout


def test_every_policy_that_the_readme_names_is_installed() -> None:
    assert set(re.findall(r"--policy (\w+)", README)) <= set(policy_names())
