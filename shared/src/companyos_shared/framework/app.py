"""App factory: builds a service's FastAPI app with middleware, control API, health checks and docs."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, cast

from fastapi import FastAPI, Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles

from companyos_shared import file_descriptors
from companyos_shared.folder_lock import lock_folder
from companyos_shared.framework.authentication import ReplayProtection
from companyos_shared.framework.call import SCOPE_KEY
from companyos_shared.framework.control_api import control_router, standalone_router
from companyos_shared.framework.episodes import Episodes
from companyos_shared.framework.errors import install_problem_handlers
from companyos_shared.framework.form_middleware import FormMiddleware
from companyos_shared.framework.metrics import metrics_router
from companyos_shared.framework.middleware import ServiceMiddleware
from companyos_shared.framework.pages import PAGES_PREFIX
from companyos_shared.framework.schemas import StoredResponseError
from companyos_shared.framework.service import Service
from companyos_shared.framework.settings import ServiceSettings
from companyos_shared.framework.standalone import StandaloneEpisode
from companyos_shared.framework.storage import STORAGE_ERRORS, Storage, storage_full_error
from companyos_shared.pages import MOUNT, STATIC
from companyos_shared.private_files import keep_files_private, make_private_folder
from companyos_shared.telemetry.trace_export import create_traces
from companyos_shared.telemetry.tracing import Traces
from companyos_shared.temporary_folders import temporary_data_folder
from companyos_shared.web.response_headers import ProtectedApp
from companyos_shared.web.trusted_hosts import TrustedHostsMiddleware, parse_host_names
from companyos_shared.wire.problem import ProblemBody

DESCRIPTORS_PER_EPISODE = 3
"""File descriptors of an open epoch: the database, its write-ahead log and its shared memory."""

SPARE_DESCRIPTORS = 64

_STATIC = Path(__file__).parent / "static"


def create_app(service: Service[Any], settings: ServiceSettings | None = None) -> FastAPI:
    """Return the app of a service. Without a key in the settings it runs standalone with demo data."""
    keep_files_private()
    settings = settings or ServiceSettings()
    key = settings.key()
    at_exit = ExitStack()
    episodes = Episodes(
        service,
        make_private_folder((settings.data_dir or _temporary_folder(at_exit)) / service.name),
        max_open=min(settings.max_open_episodes, _episode_limit(file_descriptors.raise_limit())),
        max_template_bytes=settings.max_template_bytes,
        min_free_bytes=settings.min_free_bytes,
    )
    standalone = StandaloneEpisode(episodes) if key is None else None
    traces = create_traces(service.name)
    app = ProtectedApp(
        title=service.title,
        description=service.description,
        version=service.version,
        docs_url=None,
        redoc_url=None,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # the middleware traces calls itself
        lifespan=_lifespan(episodes, traces, at_exit),
    )
    app.router.routes.extend(service.router.routes)
    control = control_router(episodes) if standalone is None else standalone_router(episodes, standalone)
    app.router.routes.extend(control.routes)  # added directly, because include_router would build them again
    _add_health(app, service, episodes.storage)
    app.router.routes.extend(metrics_router(episodes).routes)
    _add_docs(app, service)
    app.openapi = _openapi_of(app, service)  # type: ignore[method-assign]
    install_problem_handlers(app)
    app.add_exception_handler(StoredResponseError, _on_stored_response)
    for kind in STORAGE_ERRORS:
        app.add_exception_handler(kind, _on_storage_error)
    app.add_middleware(
        ServiceMiddleware,
        episodes=episodes,
        key=key,
        standalone=standalone,
        traces=traces,
        replay_protection=ReplayProtection(),  # now: Starlette creates the middleware with the first request
    )
    if standalone is not None:
        app.add_middleware(FormMiddleware, openapi=app.openapi, title=service.title, name=service.name)
        app.add_middleware(
            TrustedHostsMiddleware, names=parse_host_names(settings.allowed_hosts)
        )  # signed calls need no host check
    app.state.episodes = episodes
    return app


def _temporary_folder(at_exit: ExitStack) -> Path:
    """Make a temporary folder, which is deleted at shutdown or at an early exit of the process."""
    atexit.register(at_exit.close)
    return at_exit.enter_context(temporary_data_folder())


def _lifespan(episodes: Episodes, traces: Traces, at_exit: ExitStack) -> Callable[[FastAPI], Any]:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        with lock_folder(episodes.storage.folder), _close_at_exit(episodes):
            yield
        if traces.enabled:
            await asyncio.to_thread(traces.close)
        at_exit.close()

    return lifespan


@contextmanager
def _close_at_exit(episodes: Episodes) -> Iterator[None]:
    """Close the episodes at shutdown, or at an early exit of the process, so that their files no longer change."""
    atexit.register(episodes.close)
    try:
        yield
    finally:
        episodes.close()
        atexit.unregister(episodes.close)


def _add_health(app: FastAPI, service: Service[Any], storage: Storage) -> None:
    @app.get("/livez", include_in_schema=False)
    async def livez() -> dict[str, str]:
        return {"status": "alive", "service": service.name}

    @app.get("/readyz", include_in_schema=False)
    def readyz(response: Response) -> dict[str, Any]:
        identity = {"service": service.name, "version": service.version}
        if not storage.folder.is_dir():
            response.status_code = 503
            return {"status": "not ready", **identity, "reason": "the data folder is missing"}
        open_descriptors, max_descriptors = file_descriptors.open_count(), file_descriptors.limit()
        status = {
            **identity,
            "free_bytes": storage.free_bytes(),
            "descriptors": {"open": open_descriptors, "limit": max_descriptors},
        }
        if not storage.has_headroom():
            response.status_code = 503
            return {"status": "not ready", **status, "reason": "the remaining storage is reserved for live episodes"}
        if open_descriptors + SPARE_DESCRIPTORS > max_descriptors:
            response.status_code = 503
            return {"status": "not ready", **status, "reason": "too few file descriptors are free"}
        return {"status": "ready", **status}


def _episode_limit(limit: int) -> int:
    """Return the maximum number of open databases for a file descriptor limit, with a reserve for connections."""
    return max(1, (limit - SPARE_DESCRIPTORS) // DESCRIPTORS_PER_EPISODE)


def _add_docs(app: FastAPI, service: Service[Any]) -> None:
    app.mount(MOUNT, StaticFiles(directory=STATIC), name="pages")
    app.mount("/static", StaticFiles(directory=_STATIC), name="static")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return get_swagger_ui_html(
            openapi_url="/openapi.json",
            title=f"{service.title} API",
            swagger_js_url="/static/swagger-ui/swagger-ui-bundle.js",
            swagger_css_url="/static/swagger-ui/swagger-ui.css",
            swagger_favicon_url="/static/swagger-ui/favicon-32x32.png",
            swagger_ui_parameters={"validatorUrl": None},
        )

    @app.get("/", include_in_schema=False)
    async def index() -> RedirectResponse:
        return RedirectResponse("/docs" if service.pages is None else f"{PAGES_PREFIX}/")


def _openapi_of(app: FastAPI, service: Service[Any]) -> Callable[[], dict[str, Any]]:
    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            schema["info"]["x-service"] = service.name
            schema["info"]["x-pages"] = service.pages is not None
            schemas = schema.setdefault("components", {}).setdefault("schemas", {})
            schemas["ProblemBody"] = ProblemBody.model_json_schema()
            schemas.pop("HTTPValidationError", None)
            schemas.pop("ValidationError", None)
            app.openapi_schema = schema
        return app.openapi_schema

    return openapi


async def _on_stored_response(_request: Any, error: Exception) -> Response:
    stored = cast(StoredResponseError, error)
    return Response(stored.body, status_code=stored.status, media_type=stored.media_type)


async def _on_storage_error(request: Request, error: Exception) -> Response:
    storage_full = storage_full_error(error)
    if storage_full is None or SCOPE_KEY in request.scope:
        raise error  # an agent's call: the middleware must roll back first
    return storage_full.response()
