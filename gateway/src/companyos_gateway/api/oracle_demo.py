"""Demonstrations: the oracle policy plays an episode at a speed that viewers can follow."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from companyos.contract import DEFAULT_CHAOS, DEFAULT_SCENARIO, MAX_CHAOS, MAX_SEED, ResetOptions
from companyos.policies import EpisodeOverError, Policy, StepView, UnknownPolicyError, load_policy
from companyos_gateway.api.openapi import ERROR_RESPONSES
from companyos_gateway.api.query_params import STRICT_QUERY
from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.errors import (
    EpisodeClosedError,
    EpisodeDoneError,
    OracleDemoLimitError,
    OracleNotInstalledError,
)
from companyos_gateway.engine.policy_views import build_step_view, build_task_view
from companyos_gateway.runtime import GatewayRuntime
from companyos_shared.streams import Stream
from companyos_shared.web.lazy_routes import LazyRouter

MAX_CONCURRENT_DEMOS = 4
STEP_PAUSE_S = 0.7


class DemonstrationOptions(BaseModel):
    """The task to demonstrate. All fields are optional."""

    model_config = ConfigDict(extra="forbid", strict=True)

    scenario: str = Field(DEFAULT_SCENARIO, max_length=64)
    seed: int | None = Field(None, ge=0, le=MAX_SEED, description="Random by default.")
    chaos: int = Field(DEFAULT_CHAOS, ge=0, le=MAX_CHAOS)


class Demonstration(BaseModel):
    """A running demonstration. Follow it with `GET /render`."""

    episode_id: str


def oracle_demo_router(runtime: GatewayRuntime) -> LazyRouter:
    """Return the route that starts a demonstration with one step every STEP_PAUSE_S seconds."""
    router = LazyRouter(prefix="/v1", tags=["Trainer"], dependencies=STRICT_QUERY)
    slots = asyncio.Semaphore(MAX_CONCURRENT_DEMOS)

    @router.post("/demonstrations", status_code=202, responses=ERROR_RESPONSES)
    async def begin(body: DemonstrationOptions | None = None) -> Demonstration:
        """Start a demonstration.

        The oracle policy solves a new episode, by default of the default scenario. Follow it with `GET /render`.
        """
        options = ResetOptions(**(body or DemonstrationOptions()).model_dump())
        if slots.locked():
            raise OracleDemoLimitError(f"At most {MAX_CONCURRENT_DEMOS} demonstrations run at a time.")
        oracle = _load_oracle()
        await slots.acquire()
        try:
            engine = runtime.engine()
            episode = await engine.reset(options)
            task = runtime.run_in_background(_demonstrate(oracle, engine, episode))
        except BaseException:
            slots.release()
            raise
        task.add_done_callback(lambda _done: slots.release())
        return Demonstration(episode_id=episode.id)

    return router


def _load_oracle() -> Policy:
    try:
        return load_policy("oracle")
    except UnknownPolicyError as error:
        raise OracleNotInstalledError("Demonstrations require the package companyos-players.") from error


async def _demonstrate(oracle: Policy, engine: EpisodeEngine, episode: Episode) -> None:
    async def call(tool: str, arguments: dict[str, Any], /) -> StepView:
        await asyncio.sleep(STEP_PAUSE_S)
        try:
            observation = await engine.step(episode, tool, arguments)
        except (EpisodeDoneError, EpisodeClosedError) as over:
            raise EpisodeOverError from over
        return build_step_view(observation)

    instance = episode.task.instance
    stream = Stream("demonstration", instance.scenario, instance.seed)
    with suppress(EpisodeOverError):
        await oracle.play(build_task_view(engine, episode, stream), call)
