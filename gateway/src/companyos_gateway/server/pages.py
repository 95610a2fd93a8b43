"""The pages of the gateway: what this is, a live episode to play with, and the API documentation, all without a CDN."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.routing import Mount

from companyos_shared.pages import MOUNT, STATIC

_OWN = Path(__file__).parent / "static"
_SWAGGER = "chassis/static/swagger-ui"
"""Where the shared distribution keeps the vendored Swagger UI, as data."""

_POLICY = "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'"
_HEADERS = {"Content-Security-Policy": _POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}


def pages_router() -> APIRouter:
    """Return the pages and what they load."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def home() -> Response:
        return _page("home.html")

    @router.get("/docs")
    async def docs() -> Response:
        return _page("docs.html")

    @router.get("/favicon.ico")
    async def favicon() -> Response:
        return FileResponse(_OWN / "icon.svg", media_type="image/svg+xml")

    return router


def static_mounts() -> list[Mount]:
    """Return the mounts of everything that pages load."""
    shared = Path(str(resources.files("companyos_shared"))) / _SWAGGER
    return [
        Mount("/static/swagger-ui", StaticFiles(directory=shared)),
        Mount(MOUNT, StaticFiles(directory=STATIC)),
        Mount("/static", StaticFiles(directory=_OWN)),
    ]


def _page(name: str) -> FileResponse:
    return FileResponse(_OWN / name, media_type="text/html; charset=utf-8", headers=_HEADERS)
