"""DataHub on its demo seed, through HTTP in process."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from companyos_datahub.main import SERVICE
from companyos_shared.framework.testing import ServiceHarness


@pytest.fixture
async def hub() -> AsyncIterator[ServiceHarness]:
    async with ServiceHarness(SERVICE) as harness:
        yield harness
