"""Routes of the scenario browser: the list of scenarios, and each one with its tools and tasks."""

from __future__ import annotations

import asyncio
import re
from functools import partial

from fastapi import Request
from fastapi.responses import Response
from markupsafe import Markup, escape

from companyos.contract import Split
from companyos_gateway.api.scenario_info import ScenarioDetails, scenario_details, scenario_summary
from companyos_gateway.chaos import profile_for
from companyos_gateway.page_paths import CONSOLE_SCENARIO, CONSOLE_SCENARIOS
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.ui.console.base_view import ListPage, ListQuery, render_page, start_options
from companyos_gateway.ui.desk.service_pages import UnknownPageError
from companyos_gateway.ui.page_requests import page_or_error
from companyos_shared.web.lazy_routes import LazyRouter

LISTED_SPLITS = (Split.TRAIN, Split.VALIDATION)
"""Splits whose tasks are listed. Tasks of the test split are only for measurement."""


def scenarios_router(runtime: GatewayRuntime) -> LazyRouter:
    """Return the routes of the scenario browser."""
    router = LazyRouter(include_in_schema=False)
    facts_by_name: dict[str, ScenarioDetails] = {}

    @router.get(CONSOLE_SCENARIOS)
    async def scenarios(request: Request) -> Response:
        return await page_or_error(partial(_list_scenarios, runtime, request))

    @router.get(CONSOLE_SCENARIO)
    async def scenario(request: Request, name: str) -> Response:
        async def show() -> Response:
            scenario = runtime.engine().scenarios.get(name)
            if scenario is None:
                names = ", ".join(sorted(runtime.engine().scenarios))
                raise UnknownPageError(f'scenario must be one of {names}; got "{name}"')
            if name not in facts_by_name:
                facts_by_name[name] = await asyncio.to_thread(scenario_details, name, scenario)
            return _scenario_page(runtime, request, facts_by_name[name])

        return await page_or_error(show)

    return router


async def _list_scenarios(runtime: GatewayRuntime, request: Request) -> Response:
    rows = [
        (name, scenario_summary(scenario), getattr(scenario, "max_steps", None))
        for name, scenario in sorted(runtime.engine().scenarios.items())
    ]
    return render_page(request, "scenarios.html", "scenarios", scenarios=rows)


def _scenario_page(runtime: GatewayRuntime, request: Request, facts: ScenarioDetails) -> Response:
    engine, query = runtime.engine(), ListQuery(request, "split", "chaos")
    split = next((split for split in LISTED_SPLITS if split == query.filters["split"]), LISTED_SPLITS[0])
    tasks = [task for task in engine.task_set.tasks(f"{split}.{facts.name}") if query.matches(chaos=task.chaos)]
    tools = {tool.name: tool.description for tool in engine.toolbox.select(None)}
    options = start_options(engine)
    return render_page(
        request,
        "scenario.html",
        "scenarios",
        facts=facts,
        prose=[render_markdown(paragraph) for paragraph in facts.prose],
        tools=[(name, tools.get(name, "")) for name in facts.tools],
        distractors=[(name, tools.get(name, "")) for name in facts.distractors],
        split=split,
        listed=list(LISTED_SPLITS),
        list_page=ListPage(tasks, query),
        levels=[(level, f"{level} {profile_for(level).name}") for level in options["levels"]],
        toolsets=options["toolsets"],
        kinds=options["kinds"],
    )


_STRONG = re.compile(r"\*\*(.+?)\*\*", re.S)
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\[([^\[\]]+)\]\([^()]*\)")


def render_markdown(paragraph: str) -> Markup:
    """Return a paragraph as HTML. Supports bold, code and link texts, and escapes everything else."""
    text = str(escape(" ".join(paragraph.split()) if not paragraph.lstrip().startswith("- ") else paragraph))
    text = _LINK.sub(r"\1", _CODE.sub(r"<code>\1</code>", _STRONG.sub(r"<strong>\1</strong>", text)))
    return Markup(text)  # noqa: S704  # the paragraph was escaped before
