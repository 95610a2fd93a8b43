"""Health: alive without dependencies, ready with everything that an episode needs, healthy as OpenEnv asks for it."""

from __future__ import annotations

import shutil
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from openenv.core.env_server.types import HealthStatus

from companyos_gateway.engine.errors import ServicesUnavailableError
from companyos_gateway.server.drain import Drain
from companyos_gateway.server.house import House
from companyos_shared import descriptors

SPARE_DESCRIPTORS = 64
"""So many are left for connections when the gateway calls itself ready."""

_NOT_READY: dict[int | str, dict[str, Any]] = {503: {"description": "Not ready", "content": {"application/json": {}}}}


def health_router(house: House, drain: Drain) -> APIRouter:
    """Return the health routes; they come before the framework's own."""
    router = APIRouter(tags=["Health"])

    @router.get("/livez")
    async def livez() -> dict[str, str]:
        """Say that the process answers."""
        return {"status": "alive"}

    @router.get("/readyz", responses=_NOT_READY)
    async def readyz() -> JSONResponse:
        """Say whether episodes can be played, and why not.

        Every service answers, the tools are known, disk and descriptors are left, and nobody told the gateway to end.
        """
        told = await _look(house, drain)
        status = "not ready" if told["reasons"] else "ready"
        return JSONResponse({"status": status, **told}, 503 if told["reasons"] else 200)

    @router.get("/health", responses=_NOT_READY)
    async def health() -> JSONResponse:
        """Say `healthy` exactly when the gateway is ready."""
        told = await _look(house, drain)
        status = HealthStatus.UNHEALTHY if told["reasons"] else HealthStatus.HEALTHY
        return JSONResponse({"status": status.value, **told}, 503 if told["reasons"] else 200)

    return router


async def _look(house: House, drain: Drain) -> dict[str, Any]:
    answers = await house.readiness()
    free_bytes, held, most = _free_bytes(house), descriptors.open_count(), descriptors.limit()
    tools = _tools(house)
    found = {
        "the gateway is shutting down": drain.closing,
        "a service is not ready": not answers or not all(answers.values()),
        "the tools are not known": not tools,
        "the disk is full": free_bytes is not None and free_bytes < house.settings.min_free_bytes,
        "few descriptors are left": held + SPARE_DESCRIPTORS > most,
    }
    return {
        "services": {name: "ready" if answers[name] else "not ready" for name in sorted(answers)},
        "tools": tools,
        "free_bytes": free_bytes,
        "descriptors": {"open": held, "limit": most},
        "quarantine": _quarantine(house),
        "reasons": [reason for reason, is_so in found.items() if is_so],
    }


def _tools(house: House) -> int:
    try:
        return len(house.engine().toolbox)
    except ServicesUnavailableError:
        return 0


def _quarantine(house: House) -> dict[str, Any]:
    """Return how many items are in quarantine and how many files are unknown; neither keeps the gateway from ready."""
    try:
        quarantine = house.quarantine()
    except ServicesUnavailableError:
        return {}
    found = {"items": len(quarantine), "unknown_files": len(quarantine.unknown_files)}
    return found | ({"see": "GET /v1/quarantine or `companyos quarantine list`"} if any(found.values()) else {})


def _free_bytes(house: House) -> int | None:
    """Return what the data folder can still take, None where there is no limit; a folder that is gone takes nothing."""
    if house.data_dir is None:
        return None
    try:
        usage = shutil.disk_usage(house.data_dir)
    except OSError:
        return 0
    return usage.free if usage.total else None
