"""Routes of results: the runs of `companyos eval` and their episodes."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import Response
from markupsafe import Markup

from companyos.contract import Outcome
from companyos.report import build_report
from companyos.report.figures import Example
from companyos.report.page import report_html
from companyos.runner.run_reader import name_of
from companyos_gateway.page_paths import CONSOLE_RESULTS, CONSOLE_RUN
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.ui.console.base_view import (
    ListPage,
    ListQuery,
    document_response,
    prefix_of,
    render_page,
    render_viewer,
)
from companyos_gateway.ui.console.run_report import build_charts, build_table_rows
from companyos_gateway.ui.page_requests import page_or_error
from companyos_gateway.viewer.stored_runs import StoredRuns, UnknownRunError
from companyos_shared.web.lazy_routes import LazyRouter


def results_router(runtime: GatewayRuntime) -> LazyRouter:
    """Return the routes of results. Files are read in threads, so that large runs do not delay steps."""
    router = LazyRouter(include_in_schema=False)

    @router.get(CONSOLE_RESULTS)
    async def results(request: Request) -> Response:
        return await page_or_error(partial(_list_runs, runtime, request))

    @router.get(CONSOLE_RUN)
    async def run_page(request: Request, run: str) -> Response:
        return await page_or_error(partial(_show_run, runtime, request, run))

    @router.get(f"{CONSOLE_RUN}/episodes")
    async def episodes(request: Request, run: str) -> Response:
        return await page_or_error(partial(_show_viewer, runtime, request, run))

    @router.get(f"{CONSOLE_RUN}/run")
    async def document(request: Request, run: str) -> Response:
        path = _run_path(request, run)
        return document_response(
            await asyncio.to_thread(
                runtime.runs().document, run, partial(_document_path, path), partial(_judged_path, path)
            )
        )

    @router.get(f"{CONSOLE_RUN}/episodes/{{name}}/document")
    async def episode(run: str, name: str) -> Response:
        return document_response(await asyncio.to_thread(runtime.runs().episode, run, name))

    @router.get(f"{CONSOLE_RUN}/episodes/{{name}}/judged")
    async def judged(run: str, name: str) -> Response:
        return document_response(await asyncio.to_thread(runtime.runs().judged, run, name))

    return router


async def _list_runs(runtime: GatewayRuntime, request: Request) -> Response:
    runs = runtime.runs()
    list_page = await asyncio.to_thread(_overview, runs, ListQuery(request))
    return render_page(request, "results.html", "results", list_page=list_page, folder=runs.folder)


def _overview(runs: StoredRuns, query: ListQuery) -> ListPage:
    """Return one page of the list with a summary of each run."""
    list_page = ListPage(runs.names(), query)
    list_page.rows = [(name, _run_summary(runs, name)) for name in list_page.rows]
    return list_page


def _run_summary(runs: StoredRuns, name: str) -> dict[str, Any]:
    try:
        records = runs.records(name)
    except UnknownRunError:
        return {"episodes": 0, "policies": [], "levels": [], "scenarios": 0}
    return {
        "episodes": len(records),
        "policies": list(dict.fromkeys(record.policy for record in records)),
        "levels": sorted({record.chaos for record in records}),
        "scenarios": len({record.scenario for record in records}),
    }


async def _show_run(runtime: GatewayRuntime, request: Request, run: str) -> Response:
    """Show the report of a run; raises UnknownRunError (404)."""
    query = ListQuery(request, "policy", "outcome", "chaos", "scenario")
    values = await asyncio.to_thread(_run_values, runtime.runs(), run, _run_path(request, run), query)
    return render_page(request, "run.html", "results", run=run, outcomes=list(Outcome), name_of=name_of, **values)


def _run_values(runs: StoredRuns, run: str, run_path: str, query: ListQuery) -> dict[str, Any]:
    records = runs.records(run)
    matching = [
        record
        for record in records
        if query.matches(
            policy=record.policy, outcome=record.outcome.value, chaos=record.chaos, scenario=record.scenario
        )
    ]
    path = f"{run_path}/episodes"

    def address(one: Example) -> str:
        return f"{path}#episode={quote(one.episode, safe='')}&step={one.step}"

    return {
        "report": Markup(report_html(build_report({run: records}), address)) if records else "",  # noqa: S704
        "total": len(records),
        "rows": build_table_rows(records),
        "charts": build_charts(records),
        "list_page": ListPage(matching, query),
        "policies": list(dict.fromkeys(record.policy for record in records)),
        "levels": sorted({record.chaos for record in records}),
        "scenarios": sorted({record.scenario for record in records}),
    }


async def _show_viewer(runtime: GatewayRuntime, request: Request, run: str) -> Response:
    """Show the episodes of a run in the viewer; raises UnknownRunError (404)."""
    await asyncio.to_thread(runtime.runs().records, run)
    path = _run_path(request, run)
    return render_viewer(
        request, run, {"run": f"{path}/run"}, [("Results", f"{prefix_of(request)}/results"), (run, path)]
    )


def _run_path(request: Request, run: str) -> str:
    return f"{prefix_of(request)}/results/{quote(run, safe='')}"


def _document_path(path: str, name: str) -> str:
    return f"{path}/episodes/{quote(name, safe='')}/document"


def _judged_path(path: str, name: str) -> str:
    return f"{path}/episodes/{quote(name, safe='')}/judged"
