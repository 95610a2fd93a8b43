"""Routes of the playground. Gradio is imported at the first request, so that the gateway starts fast."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import Receive, Scope, Send

from companyos_gateway.api.lazy_app import LazyApp
from companyos_gateway.middleware.drain import DrainState
from companyos_gateway.runtime import GatewayRuntime

PLAYGROUND_PATH = "/web"


def playground_routes(runtime: GatewayRuntime, drain: DrainState) -> list[BaseRoute]:
    """Return the routes of the playground."""
    page = LazyApp(runtime, partial(_open_page, runtime, drain))

    async def serve_page(scope: Scope, receive: Receive, send: Send) -> None:
        page_scope = {**scope, "root_path": scope.get("root_path", "").removesuffix(PLAYGROUND_PATH)}
        await (await page.app())(page_scope, receive, send)

    return [Route(PLAYGROUND_PATH, _redirect_to_page, include_in_schema=False), Mount(PLAYGROUND_PATH, serve_page)]


@asynccontextmanager
async def _open_page(runtime: GatewayRuntime, drain: DrainState) -> AsyncIterator[FastAPI]:
    page = await asyncio.to_thread(_build_page, runtime)
    async with page.router.lifespan_context(page):
        runtime.run_in_background(_close_streams(page, drain))
        yield page


async def _close_streams(page: FastAPI, drain: DrainState) -> None:
    """Close the event streams of open pages when the gateway is about to stop."""
    await drain.started.wait()
    page.state.end_of_streams.set()


def _build_page(runtime: GatewayRuntime) -> FastAPI:
    from companyos_gateway.ui.playground.gradio_page import create_playground_app

    async def build() -> FastAPI:
        return create_playground_app(runtime, PLAYGROUND_PATH)

    return asyncio.run(build())  # without a running loop, Gradio creates one and never closes it


async def _redirect_to_page(request: Request) -> Response:
    return RedirectResponse(f"{request.scope.get('root_path', '')}{PLAYGROUND_PATH}/")
