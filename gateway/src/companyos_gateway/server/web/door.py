"""The door of the page: its toolkit is imported when somebody first opens it, so a start costs nothing for it."""

from __future__ import annotations

import asyncio

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from companyos_gateway.server.drain import Drain
from companyos_gateway.server.house import House

PATH = "/web"


def web_routes(house: House, drain: Drain) -> list[BaseRoute]:
    """Return the routes of the page."""
    return [
        Route(PATH, _to_the_page, include_in_schema=False),
        Mount(PATH, WebPage(house, drain)),
    ]


class WebPage:
    """ASGI app that builds the page at its first request; those that come meanwhile wait for it."""

    def __init__(self, house: House, drain: Drain) -> None:
        self._house = house
        self._drain = drain
        self._built: asyncio.Future[ASGIApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if self._built is None:
            self._built = asyncio.get_running_loop().create_future()
            self._house.in_background(self._live(self._built))
        page = await asyncio.shield(self._built)
        inner = {**scope, "root_path": scope.get("root_path", "").removesuffix(PATH)}
        await page(inner, receive, send)

    async def _live(self, built: asyncio.Future[ASGIApp]) -> None:
        try:
            page = await asyncio.to_thread(_page_of, self._house)
            async with page.router.lifespan_context(page):
                built.set_result(page)
                await self._drain.began.wait()
                page.state.end_of_streams.set()
                await asyncio.Event().wait()
        except Exception as bug:
            self._built = None
            if built.done():
                raise
            built.set_exception(bug)


def _page_of(house: House) -> FastAPI:
    from companyos_gateway.server.web.page import web_app

    async def build() -> FastAPI:
        return web_app(house)

    return asyncio.run(build())  # where no loop runs the toolkit makes one, and never closes it


async def _to_the_page(request: Request) -> Response:
    return RedirectResponse(f"{request.scope.get('root_path', '')}{PATH}/")
