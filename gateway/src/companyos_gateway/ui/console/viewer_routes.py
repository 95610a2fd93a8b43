"""Routes of the viewer: episode pages, documents, event streams and static files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Header, Query, Request
from fastapi.responses import PlainTextResponse, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from companyos.viewer import STYLE, static_file
from companyos_gateway.engine.episode import Episode
from companyos_gateway.middleware.drain import DrainState
from companyos_gateway.page_paths import CONSOLE_ROOT, CONSOLE_STATIC
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.ui.console.base_view import document_response, prefix_of, render_page, render_viewer
from companyos_gateway.ui.console.episode_ref import (
    EPISODES,
    FINISHED,
    list_screenshots,
    load_document,
    resolve_episode,
)
from companyos_gateway.ui.desk.service_pages import UnknownPageError
from companyos_gateway.ui.page_requests import page_or_error
from companyos_gateway.viewer.event_stream import stream_events
from companyos_shared.web.lazy_routes import LazyRouter

After = Annotated[int, Query(ge=0, description="Number of the last step that the client has.")]
LastEventId = Annotated[str | None, Header(max_length=32)]

_NOT_STORED = {"Cache-Control": "no-store"}


def viewer_router(runtime: GatewayRuntime, drain: DrainState) -> LazyRouter:
    """Return the routes of the viewer."""
    router = LazyRouter(include_in_schema=False)
    for kind in (EPISODES, FINISHED):
        _add_episode_routes(router, runtime, kind)

    @router.get(f"{CONSOLE_STATIC}/{{name}}")
    async def static(name: str) -> Response:
        try:
            return PlainTextResponse(static_file(name), media_type="text/css" if name == STYLE else "text/javascript")
        except KeyError:
            raise UnknownPageError from None

    def live_episode(name: str) -> Episode:
        runtime.metrics.notifier.check_capacity()
        return runtime.engine().store.get(name)

    @router.get(f"{CONSOLE_ROOT}/{EPISODES}/{{name}}/events", response_class=EventSourceResponse)
    async def events(
        episode: Episode = Depends(live_episode), after: After = 0, last_event_id: LastEventId = None
    ) -> AsyncIterator[ServerSentEvent]:
        last_known = int(last_event_id) if last_event_id is not None and last_event_id.isdecimal() else 0
        metrics = runtime.metrics
        async for event in stream_events(
            episode, metrics.source, metrics.notifier, drain.started, after=max(after, last_known)
        ):
            yield ServerSentEvent(event=event.event, raw_data=event.data, id=event.id)

    return router


def _add_episode_routes(router: LazyRouter, runtime: GatewayRuntime, kind: str) -> None:
    """Add the page, the document and the step table for a kind of episodes."""
    path = f"{CONSOLE_ROOT}/{kind}/{{name}}"

    def ref(name: str) -> str:
        return f"{kind}/{quote(name, safe='')}"

    @router.get(path)
    async def episode_page(request: Request, name: str) -> Response:
        return await page_or_error(partial(_show_viewer, runtime, request, ref(name)))

    @router.get(f"{path}/document")
    async def episode_document(request: Request, name: str) -> Response:
        return document_response(await load_document(runtime, request, ref(name)))

    @router.get(f"{path}/steps")
    async def episode_steps(request: Request, name: str) -> Response:
        return await page_or_error(partial(_show_steps, runtime, request, ref(name)))

    @router.get(f"{path}/screenshots")
    async def episode_screenshots(request: Request, name: str) -> list[dict[str, Any]]:
        address = f"{prefix_of(request)}/{ref(name)}/screenshots"
        return [{"step": one.step, "url": f"{address}/{one.id}.png"} for one in list_screenshots(runtime, ref(name))]

    @router.get(f"{path}/screenshots/{{screenshot_id}}.png")
    async def episode_screenshot(name: str, screenshot_id: str) -> Response:
        for one in list_screenshots(runtime, ref(name)):
            if one.id == screenshot_id:
                with suppress(FileNotFoundError):
                    return Response(one.path.read_bytes(), media_type="image/png", headers=_NOT_STORED)
        raise UnknownPageError


async def _show_viewer(runtime: GatewayRuntime, request: Request, ref: str) -> Response:
    """Show an episode in the viewer; raises UnknownEpisodeError (404)."""
    episode_source, path = resolve_episode(runtime, ref), f"{prefix_of(request)}/{ref}"
    source = {"episode": f"{path}/document"} | ({} if episode_source.is_over else {"events": f"{path}/events"})
    links = [
        ("Compare", f"{prefix_of(request)}/compare?episode={quote(ref, safe='')}"),
        ("Steps as a table", f"{path}/steps"),
    ]
    return render_viewer(request, f"{episode_source.id} - {episode_source.task_key.scenario}", source, links)


async def _show_steps(runtime: GatewayRuntime, request: Request, ref: str) -> Response:
    """Show the steps of an episode as a table without scripts; raises UnknownEpisodeError (404)."""
    document = await load_document(runtime, request, ref)
    return render_page(request, "steps.html", "episodes", episode=document, facts=document.facts, ref=ref)
