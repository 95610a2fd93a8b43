"""Health routes: liveness, readiness, and the `/health` route of OpenEnv."""

from __future__ import annotations

import shutil
from typing import Any

from fastapi.responses import JSONResponse
from openenv.core.env_server.types import HealthStatus

from companyos_gateway.engine.errors import ServicesUnavailableError
from companyos_gateway.middleware.drain import DrainState
from companyos_gateway.runtime import GatewayRuntime
from companyos_shared import file_descriptors
from companyos_shared.web.lazy_routes import LazyRouter

SPARE_DESCRIPTORS = 64
"""Minimum number of free file descriptors for the gateway to be ready."""

_NOT_READY: dict[int | str, dict[str, Any]] = {503: {"description": "Not ready", "content": {"application/json": {}}}}


def health_router(runtime: GatewayRuntime, drain: DrainState) -> LazyRouter:
    """Return the health routes. Include them before the framework's."""
    router = LazyRouter(tags=["Health"])

    @router.get("/livez")
    async def livez() -> dict[str, str]:
        """Check that the process responds."""
        return {"status": "alive"}

    @router.get("/readyz", responses=_NOT_READY)
    async def readyz() -> JSONResponse:
        """Check that the gateway can run episodes.

        The gateway is ready if all services respond, the tools are loaded, enough disk space and file descriptors are
        free, and no shutdown is in progress. If it is not ready, the response has status 503 and lists the reasons.
        """
        report = await _check(runtime, drain)
        status = "not ready" if report["reasons"] else "ready"
        return JSONResponse({"status": status, **report}, 503 if report["reasons"] else 200)

    @router.get("/health", responses=_NOT_READY)
    async def health() -> JSONResponse:
        """Check readiness in the format of OpenEnv."""
        report = await _check(runtime, drain)
        status = HealthStatus.UNHEALTHY if report["reasons"] else HealthStatus.HEALTHY
        return JSONResponse({"status": status.value, **report}, 503 if report["reasons"] else 200)

    return router


async def _check(runtime: GatewayRuntime, drain: DrainState) -> dict[str, Any]:
    is_service_ready = await runtime.readiness()
    free_bytes, open_count, limit = _free_bytes(runtime), file_descriptors.open_count(), file_descriptors.limit()
    tools = _tools(runtime)
    problems = {
        "the gateway is shutting down": drain.is_draining,
        "a service is not ready": not is_service_ready or not all(is_service_ready.values()),
        "the tools are not loaded": not tools,
        "too little disk space is free": free_bytes is not None and free_bytes < runtime.settings.min_free_bytes,
        "too few file descriptors are free": open_count + SPARE_DESCRIPTORS > limit,
    }
    return {
        "services": {name: "ready" if ready else "not ready" for name, ready in sorted(is_service_ready.items())},
        "restarts": runtime.restarts(),
        "tools": tools,
        "free_bytes": free_bytes,
        "descriptors": {"open": open_count, "limit": limit},
        "quarantine": _quarantine(runtime),
        "reasons": [reason for reason, applies in problems.items() if applies],
    }


def _tools(runtime: GatewayRuntime) -> int:
    try:
        return len(runtime.engine().toolbox)
    except ServicesUnavailableError:
        return 0


def _quarantine(runtime: GatewayRuntime) -> dict[str, Any]:
    """Return the counts of quarantined items and unknown files, which do not affect readiness."""
    try:
        quarantine = runtime.quarantine()
    except ServicesUnavailableError:
        return {}
    problems = {"items": len(quarantine), "unknown_files": len(quarantine.unknown_files)}
    return problems | ({"see": "GET /v1/quarantine or `companyos quarantine list`"} if any(problems.values()) else {})


def _free_bytes(runtime: GatewayRuntime) -> int | None:
    """Return the free bytes of the data folder, 0 if it is missing, None if there is no folder or no limit."""
    if runtime.data_dir is None:
        return None
    try:
        usage = shutil.disk_usage(runtime.data_dir)
    except OSError:
        return 0
    return usage.free if usage.total else None
