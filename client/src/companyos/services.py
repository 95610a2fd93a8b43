"""Standalone services for tests of other code: processes, and a client of their control routes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import Any

import httpx

from companyos.entry_points import find_entry_points
from companyos.extras import install_command
from companyos.server_process import EnterpriseError, ServerProcess
from companyos.trainer import error_from_response

SERVICE_GROUP = "companyos.services"
TIMEOUT_S = 30.0


class ServiceProcess(ServerProcess):
    """One standalone service for the duration of a `with` block. `app` is its app, as in `package.module:app`."""

    health = ("/readyz", "ready")

    def __init__(self, name: str, app: str) -> None:
        super().__init__(alone=True)
        self.title = name
        self._app = app

    def arguments(self) -> list[str]:
        """Return the module that runs an app, and the app."""
        return ["companyos_shared.serving", self._app]


class StandaloneService:
    """A standalone service. `http` sends requests to it, such as `service.http.get("/tickets")`.

    The methods raise ApiError if the service rejects the call or has no control routes, like the services of a gateway.
    `http` returns redirects and error responses.
    """

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        self.url = url
        self.http = httpx.Client(base_url=url, timeout=TIMEOUT_S, trust_env=False)

    def reset(
        self,
        document: Mapping[str, Any] | None = None,
        *,
        now: datetime | str | None = None,
        faults: Iterable[Mapping[str, Any] | None] = (),
    ) -> datetime:
        """Reset the service to a seed document, by default the demo data, and return the simulated time.

        `now` is that time, by default the document's `started_at`. `faults` are the faults of the next calls, in order,
        such as `{"kind": "unavailable", "retry_after_s": 60}`; None means no fault.
        """
        moment = now.isoformat() if isinstance(now, datetime) else now
        return self._clock("POST", "reset", {"document": document, "now": moment, "faults": list(faults)})

    def now(self) -> datetime:
        """Return the simulated time."""
        return self._clock("GET", "clock")

    def advance(self, minutes: int) -> datetime:
        """Advance the clock, apply the events due by then, and return the simulated time."""
        return self._clock("POST", "clock", {"minutes": minutes})

    def close(self) -> None:
        """Close the connections."""
        self.http.close()

    def _clock(self, method: str, verb: str, body: dict[str, Any] | None = None) -> datetime:
        response = self.http.request(method, f"/control/{verb}", json=body)
        if response.is_error:
            raise error_from_response(str(response.url), response.status_code, response.content)
        return datetime.fromisoformat(response.json()["now"])


class StandaloneServices(Mapping[str, StandaloneService]):
    """Standalone services by name. Each is an attribute as well: `services.ticketdesk`."""

    def __init__(self, urls: Mapping[str, str]) -> None:
        self._services = {name: StandaloneService(name, url) for name, url in urls.items()}

    def __getitem__(self, name: str) -> StandaloneService:
        return self._services[name]

    def __getattr__(self, name: str) -> StandaloneService:
        services = self.__dict__.get("_services", {})
        if name not in services:
            raise AttributeError(f"service must be one of {', '.join(services)}; got {name}")
        service: StandaloneService = services[name]
        return service

    def __iter__(self) -> Iterator[str]:
        return iter(self._services)

    def __len__(self) -> int:
        return len(self._services)

    def reset(self, *, now: datetime | str | None = None) -> None:
        """Restore the demo data of every service; `now` sets all clocks."""
        for service in self.values():
            service.reset(now=now)

    def advance(self, minutes: int) -> None:
        """Advance every clock."""
        for service in self.values():
            service.advance(minutes)

    def close(self) -> None:
        """Close the connections."""
        for service in self.values():
            service.close()


@contextmanager
def run_services() -> Iterator[dict[str, str]]:
    """Run every installed service standalone for the duration of a `with` block; return their URLs by name.

    Raises EnterpriseError if none is installed or one does not start.
    """
    points = find_entry_points(SERVICE_GROUP)
    if not points:
        raise EnterpriseError(f"no service is installed: {install_command('server')}")
    with ExitStack() as stack:
        processes = {name: ServiceProcess(name, point.value) for name, point in points.items()}
        for process in processes.values():
            stack.callback(process.stop)
            process.start()
        for process in processes.values():
            process.wait_until_ready()
        yield {name: process.url for name, process in processes.items()}
