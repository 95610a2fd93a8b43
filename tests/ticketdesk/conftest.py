"""Fixtures: an in-process TicketDesk with the tickets that a test defines."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from companyos_shared.framework.testing import ServiceHarness
from companyos_ticketdesk.main import SERVICE
from tests.ticketdesk.builders import a_seed

OpenDesk = Callable[..., Awaitable[ServiceHarness]]


@pytest.fixture
async def open_desk() -> AsyncIterator[OpenDesk]:
    async with AsyncExitStack() as stack:

        async def opened(*tickets: dict[str, Any], **lists: Any) -> ServiceHarness:
            return await stack.enter_async_context(ServiceHarness(SERVICE, seed=a_seed(*tickets, **lists)))

        yield opened
