"""The testcontainers module in the example project, outside the repository, and the ports of Compose."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import docker
import pytest

from tests.architecture.sources import ROOT
from tests.plugins.isolated_environment import build_isolated_environment

EXAMPLE = ROOT / "examples" / "integration-tests"
TESTCONTAINERS = {"label": "org.testcontainers.lang=python"}


def test_the_example_passes_and_leaves_no_containers(url: str, tmp_path: Path) -> None:
    before = {container.id for container in docker.from_env().containers.list(all=True, filters=TESTCONTAINERS)}
    environment = build_isolated_environment(tmp_path, "testcontainers")
    shutil.copytree(EXAMPLE, environment.work, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    assert "2 passed" in environment.run("python", "-m", "pytest", "-q", "tests/test_containers.py")
    assert {container.id for container in docker.from_env().containers.list(all=True, filters=TESTCONTAINERS)} == before


@pytest.mark.parametrize(
    ("settings", "published"),
    [
        ({}, [("127.0.0.1", "8000"), ("127.0.0.1", "8001"), ("127.0.0.1", "8002"), ("127.0.0.1", "8003")]),
        (
            {"COMPANYOS_BIND": "0.0.0.0", "COMPANYOS_PORT": "9000", "COMPANYOS_DATAHUB_PORT": "9002"},
            [("0.0.0.0", "8001"), ("0.0.0.0", "8003"), ("0.0.0.0", "9000"), ("0.0.0.0", "9002")],
        ),
    ],
)
def test_compose_publishes_the_ports_of_the_environment(
    settings: dict[str, str], published: list[tuple[str, str]]
) -> None:
    command = ["docker", "compose", "--profile", "sandbox", "config", "--format", "json"]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **settings}, capture_output=True, text=True, check=True)
    ports = [port for one in json.loads(done.stdout)["services"].values() for port in one.get("ports", [])]
    assert sorted((port["host_ip"], port["published"]) for port in ports) == published
