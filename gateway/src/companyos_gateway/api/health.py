"""Health: alive without dependencies, ready with everything that an episode needs, healthy as OpenEnv asks for it."""

from __future__ import annotations

import shutil
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from openenv.core.env_server.types import HealthStatus

from companyos_gateway.engine.errors import ServicesUnavailableError
from companyos_gateway.middleware.drain import DrainState
from companyos_gateway.runtime import GatewayRuntime
from companyos_shared import file_descriptors

SPARE_DESCRIPTORS = 64
"""So many are left for connections when the gateway calls itself ready."""

_NOT_READY: dict[int | str, dict[str, Any]] = {503: {"description": "Not ready", "content": {"application/json": {}}}}


def health_router(runtime: GatewayRuntime, drain: DrainState) -> APIRouter:
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
        report = await _check(runtime, drain)
        status = "not ready" if report["reasons"] else "ready"
        return JSONResponse({"status": status, **report}, 503 if report["reasons"] else 200)

    @router.get("/health", responses=_NOT_READY)
    async def health() -> JSONResponse:
        """Say `healthy` exactly when the gateway is ready."""
        report = await _check(runtime, drain)
        status = HealthStatus.UNHEALTHY if report["reasons"] else HealthStatus.HEALTHY
        return JSONResponse({"status": status.value, **report}, 503 if report["reasons"] else 200)

    return router


async def _check(runtime: GatewayRuntime, drain: DrainState) -> dict[str, Any]:
    answers = await runtime.readiness()
    free_bytes, held, most = _free_bytes(runtime), file_descriptors.open_count(), file_descriptors.limit()
    tools = _tools(runtime)
    problems = {
        "the gateway is shutting down": drain.is_draining,
        "a service is not ready": not answers or not all(answers.values()),
        "the tools are not known": not tools,
        "the disk is full": free_bytes is not None and free_bytes < runtime.settings.min_free_bytes,
        "few descriptors are left": held + SPARE_DESCRIPTORS > most,
    }
    return {
        "services": {name: "ready" if answers[name] else "not ready" for name in sorted(answers)},
        "tools": tools,
        "free_bytes": free_bytes,
        "descriptors": {"open": held, "limit": most},
        "quarantine": _quarantine(runtime),
        "reasons": [reason for reason, is_so in problems.items() if is_so],
    }


def _tools(runtime: GatewayRuntime) -> int:
    try:
        return len(runtime.engine().toolbox)
    except ServicesUnavailableError:
        return 0


def _quarantine(runtime: GatewayRuntime) -> dict[str, Any]:
    """Return how many items are in quarantine and how many files are unknown; neither keeps the gateway from ready."""
    try:
        quarantine = runtime.quarantine()
    except ServicesUnavailableError:
        return {}
    problems = {"items": len(quarantine), "unknown_files": len(quarantine.unknown_files)}
    return problems | ({"see": "GET /v1/quarantine or `companyos quarantine list`"} if any(problems.values()) else {})


def _free_bytes(runtime: GatewayRuntime) -> int | None:
    """Return what the data folder can still take, None where there is no limit; a folder that is gone takes nothing."""
    if runtime.data_dir is None:
        return None
    try:
        usage = shutil.disk_usage(runtime.data_dir)
    except OSError:
        return 0
    return usage.free if usage.total else None
