"""Retry-After over HTTP: an agent that waits for the stated time gets past that outage."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from itertools import cycle
from math import ceil
from pathlib import Path
from typing import Any

import httpx
import pytest

from companyos_gateway.app import create_app
from companyos_gateway.chaos import FaultPlan
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.scenarios import catalogue
from companyos_gateway.settings import Settings
from verification.in_process import in_process_service_clients

SCENARIO, SEED, PROBES = "vendor_onboarding", 1, 25
READS = ("ticketdesk_list_tickets", "datahub_list_sources", "approvalflow_list_approval_types")
STATUSES = {"service-unavailable": 503, "too-many-requests": 429, "authorization-unavailable": 403}
MIN_FAULTS = 5
STRIDE_MINUTES = 17
"""Interval between probes: shorter than any gap between outages, and without a common period."""


class Agent:
    """An episode played over HTTP."""

    def __init__(self, http: httpx.AsyncClient, plan: FaultPlan, first: dict[str, Any]) -> None:
        self._http, self._episode_id, self.plan = http, first["episode_id"], plan
        self.now = datetime.fromisoformat(first["observation"]["now"])
        self.codes: list[str] = []

    async def step(self, tool: str, **arguments: Any) -> Any:
        action = {"episode_id": self._episode_id, "action": {"tool_name": tool, "arguments": arguments}}
        answer = (await self._http.post("/step", json=action)).json()
        assert not answer["done"]
        observation = answer["observation"]
        self.now = datetime.fromisoformat(observation["now"])
        return observation["result"]

    async def read(self, tool: str) -> None:
        """Call a tool until it succeeds, and check the times that its errors state."""
        service = tool.partition("_")[0]
        last_start: datetime | None = None
        while True:
            began_at = self.now
            result = await self.step(tool)
            if result.get("code") not in STATUSES:
                assert "retry_after_s" not in result
                assert "status" not in result or result["code"] == "timeout"
                return
            assert result["status"] == STATUSES[result["code"]]
            outage = self.plan.outage(service, began_at)
            assert outage is not None
            assert last_start is None or outage.starts_at > last_start
            last_start = outage.starts_at
            self.codes.append(result["code"])
            if result["retry_after_s"]:
                await self.step("wait", minutes=ceil(result["retry_after_s"] / 60))
            assert self.now >= outage.ends_at


@asynccontextmanager
async def _agent(options: dict[str, Any], folder: Path) -> AsyncIterator[Agent]:
    plan = catalogue()[SCENARIO].plan(options["seed"], options["chaos"], options["chaos_overrides"]).faults
    with in_process_service_clients(folder) as service_clients:
        app = create_app(GatewayRuntime(Settings(), service_clients=service_clients))
        http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway")
        async with app.router.lifespan_context(app), http:
            yield Agent(http, plan, (await http.post("/reset", json=options)).json())


@pytest.mark.sample(2)
@pytest.mark.parametrize(("level", "kind"), [(1, "unavailable"), (2, "rate_limited"), (3, "forbidden"), (4, None)])
async def test_waiting_the_stated_time_outlasts_the_outage(level: int, kind: str | None, tmp_path: Path) -> None:
    rates = {} if kind is None else {kind: 0.4}  # outages are rare at the lower levels
    options = {"scenario": SCENARIO, "seed": SEED, "chaos": level, "chaos_overrides": rates}
    async with _agent(options, tmp_path) as agent:
        for _, tool in zip(range(PROBES), cycle(READS), strict=False):
            await agent.read(tool)
            await agent.step("wait", minutes=STRIDE_MINUTES)
    assert len(agent.codes) >= (MIN_FAULTS if rates else 1)


async def test_retrying_at_once_fails_until_the_outage_ends(tmp_path: Path) -> None:
    options = {"scenario": SCENARIO, "seed": SEED, "chaos": 0, "chaos_overrides": {"unavailable": 0.4}}
    async with _agent(options, tmp_path) as agent:
        for _ in range(60):
            outage = agent.plan.outage("datahub", agent.now)
            result = await agent.step("datahub_list_sources")
            assert (result.get("code") == "service-unavailable") is (outage is not None)
