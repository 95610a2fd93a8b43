"""Fixtures: an in-process DataHub with its demo seed document, over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from companyos_datahub.main import SERVICE
from companyos_shared.framework.testing import ServiceHarness


@pytest.fixture
async def hub() -> AsyncIterator[ServiceHarness]:
    async with ServiceHarness(SERVICE) as harness:
        yield harness
