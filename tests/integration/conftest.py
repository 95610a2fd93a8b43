"""Fixtures: the enterprise as four processes over TCP, shared by all tests of this folder."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from companyos.enterprise import Enterprise
from tests.integration.processes import companyos_up, enterprise, service


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.integration)


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a gateway whose three services run beside it."""
    with enterprise(tmp_path_factory.mktemp("enterprise"), secrets.token_hex(32)) as address:
        yield address


@pytest.fixture(scope="session")
def up() -> Iterator[str]:
    """The address that `companyos up` serves."""
    with companyos_up() as address:
        yield address


@pytest.fixture(scope="session")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Enterprise]:
    """Two workers behind one address."""
    with Enterprise(workers=2, data_dir=tmp_path_factory.mktemp("workers"), alone=True) as enterprise:
        yield enterprise


@pytest.fixture(scope="session")
def ticketdesk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a TicketDesk that runs alone."""
    with service("ticketdesk", tmp_path_factory.mktemp("standalone")) as address:
        yield address
