"""Pytest plugin with fixtures for the standalone services and for an episode.

Pytest imports this module in every environment with this package, so all other imports are inside the fixtures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from companyos.services import StandaloneServices
    from companyos.testing import Episode

MARKER = "companyos"


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", f"{MARKER}(**options): reset options of companyos_episode: scenario, seed, ...")


@pytest.fixture(scope="session")
def companyos_service_urls() -> Iterator[Mapping[str, str]]:
    """URLs of standalone services by name: processes of this session. Override it to use services elsewhere."""
    from companyos.server_process import EnterpriseError
    from companyos.services import run_services

    with ExitStack() as stack:
        try:
            urls = stack.enter_context(run_services())
        except EnterpriseError as error:
            pytest.fail(f"companyos_service_urls: {error}", pytrace=False)
        yield urls


@pytest.fixture
def companyos_services(companyos_service_urls: Mapping[str, str]) -> Iterator[StandaloneServices]:
    """Standalone services with the demo data, such as `companyos_services.ticketdesk.http.get("/tickets")`."""
    from companyos.services import StandaloneServices

    services = StandaloneServices(companyos_service_urls)
    try:
        services.reset()
        yield services
    finally:
        services.close()


@pytest.fixture(scope="session")
def companyos_url() -> Iterator[str]:
    """URL of a gateway: a process of this session with its services. Override it to use a gateway elsewhere."""
    from companyos.enterprise import Enterprise, EnterpriseError

    with ExitStack() as stack:
        try:
            url = stack.enter_context(Enterprise(alone=True)).url
        except EnterpriseError as error:
            pytest.fail(f"companyos_url: {error}", pytrace=False)
        yield url


@pytest.fixture
def companyos_episode(request: pytest.FixtureRequest, companyos_url: str) -> Iterator[Episode]:
    """An open episode with the options of the marker `companyos`; it is dropped after the test."""
    from companyos.testing import open_episode

    marker = request.node.get_closest_marker(MARKER)
    if marker is not None and marker.args:
        pytest.fail(f"the marker {MARKER} must have keyword arguments only; got {marker.args[0]!r}", pytrace=False)
    with open_episode(companyos_url, **({} if marker is None else marker.kwargs)) as episode:
        yield episode
