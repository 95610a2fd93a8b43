"""Fixtures: an in-process ApprovalFlow with a seed document that the test chooses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from companyos_approvalflow.main import SERVICE
from companyos_approvalflow.seed import Seed
from companyos_shared.framework.testing import ServiceHarness
from tests.approvalflow.builders import a_seed, submission

DAY = 24 * 60

Start = Callable[[Seed], Awaitable[ServiceHarness]]


async def read_approval(flow: ServiceHarness, request_id: str = "APR-1") -> dict[str, Any]:
    """Return a request."""
    found: dict[str, Any] = (await flow.get(f"/approvals/{request_id}")).json()
    return found


async def start_with_question(start: Start, *reactions: dict[str, Any], **changed: Any) -> ServiceHarness:
    """Return an ApprovalFlow in which the approver has asked about APR-1, by the first of the reactions."""
    flow = await start(a_seed(reactions=list(reactions), **changed))
    await flow.post("/approvals", json=submission())
    await flow.advance(minutes=DAY)
    return flow


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    async with AsyncExitStack() as stack:

        async def started(seed: Seed) -> ServiceHarness:
            return await stack.enter_async_context(ServiceHarness(SERVICE, seed=seed))

        yield started


@pytest.fixture
async def flow(start: Start) -> ServiceHarness:
    return await start(a_seed())
