"""The simulated network: delays, reorders, loses, duplicates and replays messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx
from starlette.types import ASGIApp

from verification.simulation.scheduler import Process, Scheduler

LATENCY_S = 0.001
LONGEST_DELAY_S = 3.0

_ResponseCallback = Callable[[httpx.Response | None], None]


@dataclass
class Listener:
    """A process that serves an address."""

    process: Process
    app: ASGIApp


@dataclass
class NetworkFaults:
    """Probabilities of network faults."""

    lost: float = 0.0
    doubled: float = 0.0
    delayed: float = 0.0


@dataclass
class Network:
    """The listeners of all addresses, and the requests that were sent."""

    scheduler: Scheduler
    note: Callable[[str], None]
    faults: NetworkFaults = field(default_factory=NetworkFaults)
    listeners: dict[str, Listener] = field(default_factory=dict)
    sent: list[tuple[str, httpx.Request]] = field(default_factory=list)

    def transport(self, process: Process, address: str) -> httpx.AsyncBaseTransport:
        """Return the transport from a process to an address."""
        return _Transport(self, process, address)

    def send(self, address: str, request: httpx.Request, answer: _ResponseCallback) -> None:
        """Send a request to the listener of an address, and pass its response, or None, to `answer`."""
        self.sent.append((address, request))
        listener = self.listeners.get(address)
        if self._strikes(self.faults.lost):
            self.note(f"the request {request.url.path} to {address} is lost")
            self._send_later(lambda: answer(None))
            return
        if self._strikes(self.faults.doubled):
            self.note(f"the request {request.url.path} to {address} is doubled")
            self._send_later(lambda: self._serve(listener, address, request, _ignore_response))
        self._send_later(lambda: self._serve(listener, address, request, answer))

    def replay(self, address: str, request: httpx.Request) -> None:
        """Deliver an earlier request again to the current listener."""
        self._serve(self.listeners.get(address), address, request, _ignore_response)

    def _serve(
        self, listener: Listener | None, address: str, request: httpx.Request, answer: _ResponseCallback
    ) -> None:
        if listener is None or listener.process.is_dead:
            answer(None)
            return

        def back(response: httpx.Response | None) -> None:
            if self._strikes(self.faults.lost):
                self.note(f"the answer to {request.url.path} of {address} is lost")
                self._send_later(lambda: answer(None))
            else:
                self._send_later(lambda: answer(response))

        served = listener.process.start(lambda: _serve_request(listener.app, request, back))
        listener.process.on_death.append(lambda: answer(None) if served.is_lost else None)

    def _send_later(self, happen: Callable[[], None]) -> None:
        rng = self.scheduler.rng
        delay_s = LATENCY_S * (0.5 + rng.random())
        if self._strikes(self.faults.delayed):
            delay_s += LONGEST_DELAY_S * rng.random()
        self.scheduler.call_later(delay_s, happen)

    def _strikes(self, chance: float) -> bool:
        return chance > 0 and self.scheduler.rng.random() < chance


class _Transport(httpx.AsyncBaseTransport):
    def __init__(self, network: Network, process: Process, address: str) -> None:
        self._network = network
        self._process = process
        self._address = address

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self._process.pass_preemption_point("send")
        future: asyncio.Future[httpx.Response | None] = self._process.loop.create_future()

        def answer(response: httpx.Response | None) -> None:
            if not self._process.is_dead and not future.done():
                future.set_result(response)

        self._network.send(self._address, request, answer)
        response = await future
        self._process.pass_preemption_point("received")
        if response is None:
            raise httpx.ReadError("the connection broke")
        return response


def _ignore_response(_response: httpx.Response | None) -> None:
    """Ignore the response."""


async def _serve_request(app: ASGIApp, request: httpx.Request, answer: _ResponseCallback) -> None:
    """Serve one request with an app; an exception becomes a response with status 500, as on a real server."""
    try:
        response = await httpx.ASGITransport(app).handle_async_request(request)
        await response.aread()
    except Exception:  # noqa: BLE001 - a real server responds with 500 as well
        response = httpx.Response(500)
    answer(response)
