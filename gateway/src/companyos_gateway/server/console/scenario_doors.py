"""The doors of the scenario browser: what there is to play, and each scenario with its tools and its tasks."""

from __future__ import annotations

import asyncio
from functools import partial

from fastapi import APIRouter, Request
from fastapi.responses import Response

from companyos.contract import Split
from companyos_gateway.chaos import profile_for
from companyos_gateway.server.apps.asking import UnknownPage
from companyos_gateway.server.browsing import shown
from companyos_gateway.server.console.paths import SCENARIO, SCENARIOS
from companyos_gateway.server.console.prose import marked
from companyos_gateway.server.console.showing import Asked, Cut, choices, page
from companyos_gateway.server.house import House
from companyos_gateway.server.scenario_facts import ScenarioFacts, facts_of, summary_of

LISTED = (Split.TRAIN, Split.VALIDATION)
"""Splits whose tasks are listed: those of the test split are to measure with, and not to look into."""


def scenarios_router(house: House) -> APIRouter:
    """Return the doors of the scenario browser."""
    router = APIRouter(include_in_schema=False)
    known: dict[str, ScenarioFacts] = {}

    @router.get(SCENARIOS)
    async def scenarios(request: Request) -> Response:
        return await shown(partial(_list, house, request))

    @router.get(SCENARIO)
    async def scenario(request: Request, name: str) -> Response:
        async def one() -> Response:
            found = house.stage().scenarios.get(name)
            if found is None:
                raise UnknownPage(f"The scenarios are {', '.join(sorted(house.stage().scenarios))}.")
            if name not in known:
                known[name] = await asyncio.to_thread(facts_of, name, found)
            return _one(house, request, known[name])

        return await shown(one)

    return router


async def _list(house: House, request: Request) -> Response:
    found = [
        (name, summary_of(scenario), getattr(scenario, "max_steps", None))
        for name, scenario in sorted(house.stage().scenarios.items())
    ]
    return page(request, "scenarios.html", "scenarios", scenarios=found)


def _one(house: House, request: Request, facts: ScenarioFacts) -> Response:
    stage, asked = house.stage(), Asked(request, "split", "chaos")
    split = next((one for one in LISTED if one == asked.filters["split"]), LISTED[0])
    tasks = [
        task for task in stage.task_set.tasks(split) if task.scenario == facts.name and asked.fits(chaos=task.chaos)
    ]
    tools = {tool.name: tool.description for tool in stage.toolbox.offered(None)}
    offers = choices(stage)
    return page(
        request,
        "scenario.html",
        "scenarios",
        facts=facts,
        prose=[marked(paragraph) for paragraph in facts.prose],
        tools=[(name, tools.get(name, "")) for name in facts.tools],
        distractors=[(name, tools.get(name, "")) for name in facts.distractors],
        split=split,
        listed=list(LISTED),
        cut=Cut(tasks, asked),
        levels=[(level, f"{level} {profile_for(level).name}") for level in offers["levels"]],
        toolsets=offers["toolsets"],
        kinds=offers["kinds"],
    )
