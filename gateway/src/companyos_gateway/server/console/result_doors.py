"""The doors of results: runs of `companyos eval`, what each says, and its episodes in the viewer."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import Response

from companyos.contract import Outcome
from companyos.runner.run_reader import name_of
from companyos_gateway.server.browsing import shown
from companyos_gateway.server.console.charts import charts_of
from companyos_gateway.server.console.figures import rows_of
from companyos_gateway.server.console.paths import RESULTS, RUN
from companyos_gateway.server.console.showing import Asked, Cut, page, prefix_of, told, viewer
from companyos_gateway.server.house import House
from companyos_gateway.server.viewing.runs import Runs, UnknownRun


def results_router(house: House) -> APIRouter:
    """Return the doors of results. Files are read in threads: a large run holds up no step."""
    router = APIRouter(include_in_schema=False)

    @router.get(RESULTS)
    async def results(request: Request) -> Response:
        return await shown(partial(_list, house, request))

    @router.get(RUN)
    async def run_page(request: Request, run: str) -> Response:
        return await shown(partial(_run, house, request, run))

    @router.get(f"{RUN}/episodes")
    async def episodes(request: Request, run: str) -> Response:
        return await shown(partial(_viewer, house, request, run))

    @router.get(f"{RUN}/run")
    async def document(request: Request, run: str) -> Response:
        way = _way(request, run)
        return told(await asyncio.to_thread(house.runs().document, run, partial(_below, way), partial(_judged, way)))

    @router.get(f"{RUN}/episodes/{{name}}/document")
    async def episode(run: str, name: str) -> Response:
        return told(await asyncio.to_thread(house.runs().episode, run, name))

    @router.get(f"{RUN}/episodes/{{name}}/judged")
    async def judged(run: str, name: str) -> Response:
        return told(await asyncio.to_thread(house.runs().judged, run, name))

    return router


async def _list(house: House, request: Request) -> Response:
    runs = house.runs()
    cut = await asyncio.to_thread(_overview, runs, Asked(request))
    return page(request, "results.html", "results", cut=cut, folder=runs.folder)


def _overview(runs: Runs, asked: Asked) -> Cut:
    """Return one page of the list, with what each run on it says as a whole."""
    cut = Cut(runs.names(), asked)
    cut.rows = [(name, _summary_of(runs, name)) for name in cut.rows]
    return cut


def _summary_of(runs: Runs, name: str) -> dict[str, Any]:
    try:
        records = runs.records(name)
    except UnknownRun:
        return {"episodes": 0, "policies": [], "levels": [], "scenarios": 0}
    return {
        "episodes": len(records),
        "policies": list(dict.fromkeys(record.policy for record in records)),
        "levels": sorted({record.chaos for record in records}),
        "scenarios": len({record.scenario for record in records}),
    }


async def _run(house: House, request: Request, run: str) -> Response:
    """Show what a run says. Raises UnknownRun (404)."""
    asked = Asked(request, "policy", "outcome", "chaos", "scenario")
    values = await asyncio.to_thread(_told_of, house.runs(), run, asked)
    return page(request, "run.html", "results", run=run, outcomes=list(Outcome), name_of=name_of, **values)


def _told_of(runs: Runs, run: str, asked: Asked) -> dict[str, Any]:
    records = runs.records(run)
    found = [
        one
        for one in records
        if asked.fits(policy=one.policy, outcome=one.outcome.value, chaos=one.chaos, scenario=one.scenario)
    ]
    return {
        "total": len(records),
        "rows": rows_of(records),
        "charts": charts_of(records),
        "cut": Cut(found, asked),
        "policies": list(dict.fromkeys(one.policy for one in records)),
        "levels": sorted({one.chaos for one in records}),
        "scenarios": sorted({one.scenario for one in records}),
    }


async def _viewer(house: House, request: Request, run: str) -> Response:
    """Show the episodes of a run in the viewer. Raises UnknownRun (404)."""
    await asyncio.to_thread(house.runs().records, run)
    way = _way(request, run)
    return viewer(request, run, {"run": f"{way}/run"}, [("Results", f"{prefix_of(request)}/results"), (run, way)])


def _way(request: Request, run: str) -> str:
    return f"{prefix_of(request)}/results/{quote(run, safe='')}"


def _below(way: str, name: str) -> str:
    return f"{way}/episodes/{quote(name, safe='')}/document"


def _judged(way: str, name: str) -> str:
    return f"{way}/episodes/{quote(name, safe='')}/judged"
