"""Fixtures: one enterprise for the tests of all integrations."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from companyos.enterprise import Enterprise


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """Give the address of a real enterprise."""
    with Enterprise(alone=True) as enterprise:
        yield enterprise.url
