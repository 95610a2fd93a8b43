"""Health: alive without dependencies, ready with every service, healthy as OpenEnv's tools ask for it."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from openenv.core.env_server.types import HealthStatus

from companyos_gateway.episode.errors import ServicesDown
from companyos_gateway.server.house import House


def health_router(house: House) -> APIRouter:
    """Return the health routes; they come before the framework's own."""
    router = APIRouter(tags=["Health"])

    @router.get("/livez")
    async def livez() -> dict[str, str]:
        """Say that the process answers."""
        return {"status": "alive"}

    @router.get("/readyz")
    async def readyz() -> JSONResponse:
        """Say whether episodes can be played: every service answers and the tools are known."""
        ready, services = await _look(house)
        status = "ready" if ready else "not ready"
        return JSONResponse({"status": status, "services": services}, 200 if ready else 503)

    @router.get("/health")
    async def health() -> JSONResponse:
        """Say `healthy` only when every service answers."""
        ready, services = await _look(house)
        status = HealthStatus.HEALTHY if ready else HealthStatus.UNHEALTHY
        return JSONResponse({"status": status.value, "services": services}, 200 if ready else 503)

    return router


async def _look(house: House) -> tuple[bool, dict[str, str]]:
    answers = await house.readiness()
    services = {name: "ready" if answers[name] else "not ready" for name in sorted(answers)}
    try:
        house.stage()
    except ServicesDown:
        return False, services
    return bool(answers) and all(answers.values()), services
