"""Routes of the playground. Gradio is imported at the first request, so that the gateway starts fast."""

from __future__ import annotations

import asyncio

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from companyos_gateway.middleware.drain import DrainState
from companyos_gateway.runtime import GatewayRuntime

PLAYGROUND_PATH = "/web"


def playground_routes(runtime: GatewayRuntime, drain: DrainState) -> list[BaseRoute]:
    """Return the routes of the playground."""
    return [
        Route(PLAYGROUND_PATH, _redirect_to_page, include_in_schema=False),
        Mount(PLAYGROUND_PATH, PlaygroundApp(runtime, drain)),
    ]


class PlaygroundApp:
    """ASGI app that builds the page at the first request. Concurrent requests wait for it."""

    def __init__(self, runtime: GatewayRuntime, drain: DrainState) -> None:
        self._runtime = runtime
        self._drain = drain
        self._ready: asyncio.Future[ASGIApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_future()
            self._runtime.run_in_background(self._run(self._ready))
        page = await asyncio.shield(self._ready)
        page_scope = {**scope, "root_path": scope.get("root_path", "").removesuffix(PLAYGROUND_PATH)}
        await page(page_scope, receive, send)

    async def _run(self, ready: asyncio.Future[ASGIApp]) -> None:
        try:
            page = await asyncio.to_thread(_build_page, self._runtime)
            async with page.router.lifespan_context(page):
                ready.set_result(page)
                await self._drain.started.wait()
                page.state.end_of_streams.set()
                await asyncio.Event().wait()
        except Exception as error:
            self._ready = None
            if ready.done():
                raise
            ready.set_exception(error)


def _build_page(runtime: GatewayRuntime) -> FastAPI:
    from companyos_gateway.ui.playground.gradio_page import create_playground_app

    async def build() -> FastAPI:
        return create_playground_app(runtime, PLAYGROUND_PATH)

    return asyncio.run(build())  # without a running loop, Gradio creates one and never closes it


async def _redirect_to_page(request: Request) -> Response:
    return RedirectResponse(f"{request.scope.get('root_path', '')}{PLAYGROUND_PATH}/")
