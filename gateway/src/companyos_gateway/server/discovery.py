"""The services' OpenAPI documents, waited for."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from companyos_gateway.engine.errors import ServicesUnavailableError
from companyos_gateway.engine.service_clients import ServiceClients

FIRST_RETRY_S = 0.05
SLOWEST_RETRY_S = 0.25

_log = logging.getLogger(__name__)


async def discover(service_clients: ServiceClients) -> dict[str, dict[str, Any]]:
    """Return the OpenAPI document of every service, as soon as all of them answer."""
    pause_s = FIRST_RETRY_S
    while True:
        try:
            return await service_clients.openapi()
        except ServicesUnavailableError as waiting:
            _log.debug("%s", waiting)
            await asyncio.sleep(pause_s)
            pause_s = min(1.5 * pause_s, SLOWEST_RETRY_S)
