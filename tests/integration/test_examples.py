"""Every example runs unchanged against one running enterprise, as do the examples of the page on plain HTTP."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import requests

from tests.architecture.sources import ROOT

TRAINS = "train_grpo.py"
"""Requires PyTorch; tests/train runs it."""

BROWSER_AGENT = "screenshot_agent.py"
"""Requires Chromium; tests/browser runs it."""

GENERATES = "skyrl_environment.py"
"""Requires SkyRL Gym; `make harnesses` runs it."""

PROJECT = ROOT / "examples" / "integration-tests"
"""A project with its own tests; tests/plugins and tests/e2e run them."""

FOUND = (path for path in (ROOT / "examples").rglob("*") if path.suffix in {".py", ".sh", ".mjs"})
EXAMPLES = sorted(
    path for path in FOUND if path.name not in (TRAINS, BROWSER_AGENT, GENERATES) and not path.is_relative_to(PROJECT)
)
PAGE = (ROOT / "docs" / "http.md").read_text()
GATEWAY = "http://127.0.0.1:8000"
RUNNERS = {".py": (sys.executable, "-W", "error"), ".sh": ("sh",), ".mjs": ("node",)}
NEEDED = {".sh": "curl", ".mjs": "node"}


def _run(*command: str) -> str:
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout


@cache
def _output_of(example: Path, url: str) -> str:
    """Run an example once and return its output."""
    _check_has(NEEDED.get(example.suffix))
    return _run(*RUNNERS[example.suffix], str(example), url)


def _check_has(program: str | None) -> None:
    if program is not None and shutil.which(program) is None:
        pytest.skip(f"there is no {program} on this machine")


@pytest.fixture
def first(up: str, http: requests.Session) -> Iterator[None]:
    """Delete the episode that the page starts."""
    yield
    assert http.delete(f"{up}/v1/episodes/first").status_code == 204


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_an_example_runs_unchanged(up: str, example: Path) -> None:
    assert GATEWAY in example.read_text()
    assert _output_of(example, up).strip()


@pytest.mark.parametrize("suffix", [".py", ".sh", ".mjs"])
def test_the_examples_in_three_languages_print_the_same_episode(up: str, suffix: str) -> None:
    output = _output_of(ROOT / "examples" / "http" / f"episode{suffix}", up)
    for word in ("onboard", "approvalflow_list_approval_types", "-5.1", "episode-done", "failed", "Caldera Foods"):
        assert word in output


def test_the_example_of_best_of_n_names_the_fork_with_the_highest_return(up: str) -> None:
    *_, best = printed = _output_of(ROOT / "examples" / "best_of_n.py", up).splitlines()
    returns = [float(line.rpartition(" ")[2]) for line in printed if ", return " in line and line.startswith("fork")]
    assert len(returns) == 4
    assert best in {f"fork {n} is the best of 4" for n in range(4) if returns[n] == max(returns)}


@pytest.mark.usefixtures("first")
def test_the_commands_of_the_page_succeed(up: str) -> None:
    _check_has("curl")
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        answer = _run("sh", "-c", block.replace(GATEWAY, up).replace("curl ", "curl --fail --noproxy '*' "))
        assert '"observation"' in answer
