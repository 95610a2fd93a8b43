"""Runs the gateway as a child process, which starts the services; no Docker needed."""

from __future__ import annotations

import importlib.util
from typing import Any, Unpack

from companyos.extras import install_command
from companyos.server_process import HOST, EnterpriseError, PortInUseError, ServerOptions, ServerProcess

__all__ = ["HOST", "Enterprise", "EnterpriseError", "PortInUseError"]

GATEWAY = "companyos_gateway"


class Enterprise(ServerProcess):
    """Gateway and services for the duration of a `with` block: `with Enterprise() as enterprise: enterprise.url`.

    `workers`, 1 to 64, is the number of gateways behind the URL, each with its own services.
    """

    title = "gateway"
    health = ("/health", "healthy")

    def __init__(self, *, workers: int = 1, **options: Unpack[ServerOptions]) -> None:
        super().__init__(**options)
        self._workers = workers

    def arguments(self) -> list[str]:
        """Return the gateway's module and the number of workers."""
        if importlib.util.find_spec(GATEWAY) is None:
            raise EnterpriseError(f"the server is not installed: {install_command('server')}")
        return [GATEWAY, "--workers", str(self._workers)]

    def readiness(self) -> dict[str, Any]:
        """Return the response of /readyz. Raises EnterpriseError if the gateway does not respond."""
        try:
            return self._get("/readyz")
        except (OSError, ValueError) as error:
            raise EnterpriseError(f"the gateway does not respond: {error}{self._log_tail()}") from error
