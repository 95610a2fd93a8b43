"""Fixtures: the enterprise in containers, built from this checkout, in its own Compose project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from docker.models.containers import Container
from testcontainers.compose import DockerCompose

ROOT = Path(__file__).parents[2]
PROJECT = "companyos-e2e"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder and raise its timeout, because building images takes long."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            item.add_marker(pytest.mark.timeout(420))


@pytest.fixture(scope="session")
def project() -> Iterator[str]:
    """Name the compose project, so that nobody's volumes are touched."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMPOSE_PROJECT_NAME", PROJECT)
        yield PROJECT


@pytest.fixture(scope="session")
def url(project: str) -> Iterator[str]:
    """Run `docker compose up --build --wait` and give the gateway's address."""
    with DockerCompose(ROOT, build=True, wait=True):
        yield "http://127.0.0.1:8000"


@pytest.fixture(scope="session")
def containers(url: str, project: str) -> dict[str, Container]:
    """Every container of the project by its service's name, those that have ended included."""
    found = docker.from_env().containers.list(all=True, filters={"label": f"com.docker.compose.project={project}"})
    return {container.labels["com.docker.compose.service"]: container for container in found}


@pytest.fixture(scope="session")
def sandbox(url: str) -> Iterator[dict[str, str]]:
    """Run `docker compose --profile sandbox up --wait` beside it and give the services' addresses."""
    with DockerCompose(ROOT, wait=True, profiles=["sandbox"]):
        names = ("ticketdesk", "datahub", "approvalflow")
        yield {name: f"http://127.0.0.1:{port}" for port, name in enumerate(names, 8001)}
