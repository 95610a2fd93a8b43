"""Every response of the four processes matches their OpenAPI documents, whatever the request."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.processes import SERVICES, companyos_up, running, service
from verification.ports import HOST, free_port

EXAMPLES, EXAMPLES_OF_A_LOAD = 3, 120
DEADLINE_S, DEADLINE_OF_A_LOAD_S = 90.0, 500.0

pytestmark = pytest.mark.integration

CONFIG = Path(__file__).with_name("schemathesis.toml")
SEED = 20


def _failures(url: str, folder: Path, *, examples: int, deadline_s: float) -> str:
    """Call every operation of the process with valid and invalid data; return the failures, empty if there are none."""
    command = [
        *(str(Path(sys.executable).with_name("st")), "--config-file", str(CONFIG), "run", f"{url}/openapi.json"),
        *("--workers", "1", "--continue-on-failure", "--max-examples", str(examples), "--seed", str(SEED)),
        *("--generation-database", "none", "--suppress-health-check", "all", "--warnings", "off", "--no-color"),
    ]
    environment = {**os.environ, "NO_PROXY": "*", "no_proxy": "*"}
    completed = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=deadline_s, check=False
    )
    if completed.returncode:
        return completed.stdout + completed.stderr
    assert " passed" in completed.stdout, completed.stdout
    return ""


@pytest.fixture(params=[*SERVICES, "gateway"])
def process(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a service that runs alone, or of a gateway with its services."""
    with companyos_up() if request.param == "gateway" else service(request.param, tmp_path / "data") as url:
        yield url


def test_every_response_is_documented(process: str, tmp_path: Path) -> None:
    assert not _failures(process, tmp_path, examples=EXAMPLES, deadline_s=DEADLINE_S)


def test_an_undocumented_status_is_detected(tmp_path: Path) -> None:
    port = free_port()
    app = "tests.promises.undocumented_status_app:app"
    command = [sys.executable, "-m", "uvicorn", app, "--host", HOST, "--port", str(port)]
    with running(command, f"http://{HOST}:{port}") as url:
        assert "Received: 418" in _failures(url, tmp_path, examples=EXAMPLES, deadline_s=DEADLINE_S)


@pytest.mark.load
@pytest.mark.timeout(DEADLINE_OF_A_LOAD_S)
def test_every_response_of_many_requests_is_documented(process: str, tmp_path: Path) -> None:
    assert not _failures(process, tmp_path, examples=EXAMPLES_OF_A_LOAD, deadline_s=DEADLINE_OF_A_LOAD_S)
