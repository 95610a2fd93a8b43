"""Every response of the four processes matches their OpenAPI documents, whatever the request."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.integration.processes import SERVICES, companyos_up, running, service
from tests.promises.openapi_runs import failures
from verification.ports import HOST, free_port

EXAMPLES, EXAMPLES_OF_A_LOAD = 3, 120
DEADLINE_S, DEADLINE_OF_A_LOAD_S = 90.0, 500.0

pytestmark = pytest.mark.integration


def _process(name: str, folder: Path) -> AbstractContextManager[str]:
    return companyos_up() if name == "gateway" else service(name, folder / "data")


@pytest.fixture(params=[*SERVICES, "gateway"])
def process(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a service that runs alone, or of a gateway with its services."""
    with _process(request.param, tmp_path) as url:
        yield url


def test_every_response_is_documented(process: str, tmp_path: Path) -> None:
    assert not failures(process, tmp_path, examples=EXAMPLES, deadline_s=DEADLINE_S)


def test_an_undocumented_status_is_detected(tmp_path: Path) -> None:
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "uvicorn",
        "tests.promises.undocumented_status_app:app",
        "--host",
        HOST,
        "--port",
        str(port),
    ]
    with running(command, f"http://{HOST}:{port}") as url:
        assert "Received: 418" in failures(url, tmp_path, examples=EXAMPLES, deadline_s=DEADLINE_S)


@pytest.mark.load
@pytest.mark.timeout(DEADLINE_OF_A_LOAD_S)
def test_every_response_of_many_requests_is_documented(process: str, tmp_path: Path) -> None:
    assert not failures(process, tmp_path, examples=EXAMPLES_OF_A_LOAD, deadline_s=DEADLINE_OF_A_LOAD_S)
