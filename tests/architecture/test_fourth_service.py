"""A fourth service needs one folder in an empty workspace, one line of configuration, and no change of the gateway."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.architecture.sources import ROOT
from tests.integration.http_episode import HttpEpisode
from tests.integration.processes import SERVICES, gateway, service

pytestmark = pytest.mark.integration

KEY = "the key of the four"
NAME = "roombook"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Put the service's folder into an empty workspace, and return where its package lies."""
    folder = tmp_path_factory.mktemp("workspace") / "services" / NAME
    shutil.copytree(Path(__file__).parent / NAME, folder)
    return folder / "src"


@pytest.fixture(scope="module")
def url(workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run all four services as processes, and a gateway that is told their addresses."""
    data = tmp_path_factory.mktemp("data")
    with ExitStack() as stack:
        addresses = {
            name: stack.enter_context(service(name, data / name, COMPANYOS_SERVICE_KEY=KEY, PYTHONPATH=str(workspace)))
            for name in (*SERVICES, NAME)
        }
        services = ",".join(f"{name}={url}" for name, url in addresses.items())
        yield stack.enter_context(gateway(COMPANYOS_SERVICES=services, COMPANYOS_SERVICE_KEY=KEY))


@pytest.fixture
def tools(url: str) -> dict[str, Any]:
    with requests.Session() as http:
        http.trust_env = False
        return {tool["name"]: tool for tool in http.get(f"{url}/v1/tools").json()}


def test_its_tools_are_found_through_configuration_alone(tools: dict[str, Any]) -> None:
    assert {name for name in tools if name.startswith(NAME)} == {f"{NAME}_list_bookings", f"{NAME}_book_room"}
    assert tools[f"{NAME}_book_room"]["description"] == "Book a room."
    assert tools[f"{NAME}_book_room"]["input_schema"]["required"] == ["room"]
    assert {name.split("_")[0] for name in tools} >= set(SERVICES)


def test_its_tools_can_be_called_like_any_other(url: str) -> None:
    with requests.Session() as http:
        http.trust_env = False
        first, second = HttpEpisode(url, http), HttpEpisode(url, http)
        for episode in (first, second):
            episode.reset(seed=1, chaos=0)
        booked = first.result(f"{NAME}_book_room", room="Atrium")
        refused = first.step(f"{NAME}_book_room", room="Atrium")["observation"]
        assert booked["id"] == "B-1"
        assert refused["result"]["code"] == "room-taken"
        assert first.result(f"{NAME}_list_bookings")["total"] == 1
        assert second.result(f"{NAME}_list_bookings")["total"] == 0
        assert first.step("finish", outcome="done", summary="A room was booked.")["done"]
        assert first.state()["outcome"] == "failed"


def test_the_product_does_not_mention_the_added_service() -> None:
    outcome = subprocess.run(
        ["grep", "-ril", NAME, "gateway", "shared", "client"], cwd=ROOT, capture_output=True, text=True
    )
    assert outcome.stdout == ""


def test_its_files_satisfy_the_import_contracts(workspace: Path) -> None:
    config = f"""
        [importlinter]
        root_packages =
            companyos_{NAME}
        contract_types =
            service_layers: tests.architecture.service_layers.ServiceLayersContract

        [importlinter:contract:layers]
        name = A service is built in layers
        type = service_layers
        services =
            companyos_{NAME}
        layers =
            main
            pages | seed | routes
            service
            rules
            schemas
            model
            tables
        """
    file = workspace / ".importlinter"
    file.write_text(textwrap.dedent(config).lstrip())
    linter = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    outcome = subprocess.run(
        [sys.executable, "-c", linter, "--config", str(file), "--no-logo", "--no-cache"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(workspace)},
        capture_output=True,
        text=True,
    )
    assert outcome.returncode == 0, outcome.stdout
