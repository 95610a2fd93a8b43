"""Starts an ASGI app with its first request, for parts of the gateway whose imports take long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from starlette.types import ASGIApp

from companyos_gateway.runtime import GatewayRuntime


class LazyApp:
    """Holds an ASGI app, which its first request starts and which runs until shutdown."""

    def __init__(self, runtime: GatewayRuntime, open_app: Callable[[], AbstractAsyncContextManager[ASGIApp]]) -> None:
        self._runtime = runtime
        self._open_app = open_app
        self._app: asyncio.Future[ASGIApp] | None = None

    async def app(self) -> ASGIApp:
        """Return the app and start it if necessary. Raises the error of a failed start; the next call tries again."""
        if self._app is None:
            self._app = future = asyncio.get_running_loop().create_future()
            running = self._runtime.run_in_background(self._run(future))
            running.add_done_callback(lambda _running: future.cancel())
        return await asyncio.shield(self._app)

    async def _run(self, future: asyncio.Future[ASGIApp]) -> None:
        """Run the app until shutdown. The same task has to enter and exit its lifespan."""
        try:
            async with self._open_app() as app:
                future.set_result(app)
                await asyncio.Event().wait()
        except Exception as error:
            self._app = None
            if future.done():
                raise
            future.set_exception(error)
