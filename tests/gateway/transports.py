"""Transports between the gateway and a service, which disturb its calls."""

from __future__ import annotations

import asyncio

import httpx


class ServiceTransport(httpx.AsyncBaseTransport):
    """Transport that delivers all calls; subclasses delay, lose or count them."""

    inner: httpx.AsyncBaseTransport

    def wrap(self, inner: httpx.AsyncBaseTransport) -> httpx.AsyncBaseTransport:
        """Return this transport in front of the real one."""
        self.inner = inner
        return self

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self.inner.handle_async_request(request)


class CallRecorder(ServiceTransport):
    """Transport that records the path of every call."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.paths.append(request.url.path)
        return await super().handle_async_request(request)


class Held(ServiceTransport):
    """Transport that delivers all calls, and holds back responses while `released` is unset."""

    def __init__(self) -> None:
        self.released, self.arrived = asyncio.Event(), asyncio.Event()
        self.released.set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await super().handle_async_request(request)
        if not self.released.is_set():
            self.arrived.set()
            await self.released.wait()
        return answer
