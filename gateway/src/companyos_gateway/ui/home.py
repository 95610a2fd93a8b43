"""The home page, the API documentation and the static files of all pages, served without a CDN."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from fastapi.responses import FileResponse, HTMLResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.routing import Mount

from companyos_shared.pages import MOUNT, STATIC
from companyos_shared.web.lazy_routes import LazyRouter
from companyos_shared.web.response_headers import NO_FRAMES

_OWN = Path(__file__).parent / "static"
_SWAGGER = "framework/static/swagger-ui"
"""Path of the vendored Swagger UI in the shared distribution."""

_POLICY = "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors "
_HEADERS = {"Referrer-Policy": "no-referrer"}
_CONSOLE_LINK = '      <a href="/console">Console</a>\n'
_SPACES = "https://huggingface.co"


def frame_ancestors(*, in_a_space: bool) -> str:
    """Return the sources that may embed the gateway, for the CSP directive `frame-ancestors`."""
    return _SPACES if in_a_space else NO_FRAMES


def pages_router(*, in_a_space: bool, has_console: bool) -> LazyRouter:
    """Return the routes of the pages. In a Space, Hugging Face may embed them in a frame."""
    router = LazyRouter(include_in_schema=False)
    headers = {**_HEADERS, "Content-Security-Policy": _POLICY + frame_ancestors(in_a_space=in_a_space)}

    @router.get("/")
    async def home() -> Response:
        text = (_OWN / "home.html").read_text(encoding="utf-8")
        return HTMLResponse(text if has_console else text.replace(_CONSOLE_LINK, ""), headers=headers)

    @router.get("/docs")
    async def docs() -> Response:
        return _page("docs.html", headers)

    @router.get("/favicon.ico")
    async def favicon() -> Response:
        return FileResponse(_OWN / "icon.svg", media_type="image/svg+xml")

    return router


def static_mounts() -> list[Mount]:
    """Return the mounts of the static files."""
    shared = Path(str(resources.files("companyos_shared"))) / _SWAGGER
    return [
        Mount("/static/swagger-ui", StaticFiles(directory=shared)),
        Mount(MOUNT, StaticFiles(directory=STATIC)),
        Mount("/static", StaticFiles(directory=_OWN)),
    ]


def _page(name: str, headers: dict[str, str]) -> FileResponse:
    return FileResponse(_OWN / name, media_type="text/html; charset=utf-8", headers=headers)
