"""The doors of the viewer: one episode, live or over, its steps as they are taken, and what the page loads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import PlainTextResponse, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from companyos.viewer import STYLE, static_file
from companyos_gateway.episode.episode import Episode
from companyos_gateway.server.apps.asking import UnknownPage
from companyos_gateway.server.browsing import shown
from companyos_gateway.server.console.paths import ROOT, STATIC
from companyos_gateway.server.console.referring import EPISODES, FINISHED, document_for, subject_of
from companyos_gateway.server.console.showing import page, prefix_of, told, viewer
from companyos_gateway.server.drain import Drain
from companyos_gateway.server.house import House
from companyos_gateway.server.viewing.streaming import events_of

After = Annotated[int, Query(ge=0, description="The last step that is known.")]
LastEventId = Annotated[str | None, Header(max_length=32)]


def viewer_router(house: House, drain: Drain) -> APIRouter:
    """Return the doors of the viewer."""
    router = APIRouter(include_in_schema=False)
    for kind in (EPISODES, FINISHED):
        _add_episodes(router, house, kind)

    @router.get(f"{STATIC}/{{name}}")
    async def static(name: str) -> Response:
        try:
            return PlainTextResponse(static_file(name), media_type="text/css" if name == STYLE else "text/javascript")
        except KeyError:
            raise UnknownPage from None

    def followed(name: str) -> Episode:
        house.watch.news.check_has_room()
        return house.stage().store.get(name)

    @router.get(f"{ROOT}/{EPISODES}/{{name}}/events", response_class=EventSourceResponse)
    async def events(
        episode: Episode = Depends(followed), after: After = 0, last_event_id: LastEventId = None
    ) -> AsyncIterator[ServerSentEvent]:
        known = int(last_event_id) if last_event_id is not None and last_event_id.isdecimal() else 0
        watch = house.watch
        async for event in events_of(episode, watch.subject, watch.news, drain.began, after=max(after, known)):
            yield event

    return router


def _add_episodes(router: APIRouter, house: House, kind: str) -> None:
    """Add the page, the document and the table of the episodes of a kind."""
    place = f"{ROOT}/{kind}/{{name}}"

    def ref(name: str) -> str:
        return f"{kind}/{quote(name, safe='')}"

    @router.get(place)
    async def episode_page(request: Request, name: str) -> Response:
        return await shown(partial(_viewer, house, request, ref(name)))

    @router.get(f"{place}/document")
    async def episode_document(request: Request, name: str) -> Response:
        return told(await document_for(house, request, ref(name)))

    @router.get(f"{place}/steps")
    async def episode_steps(request: Request, name: str) -> Response:
        return await shown(partial(_steps, house, request, ref(name)))


async def _viewer(house: House, request: Request, ref: str) -> Response:
    """Show one episode. Raises UnknownEpisodeError (404)."""
    subject, way = subject_of(house, ref), f"{prefix_of(request)}/{ref}"
    source = {"episode": f"{way}/document"} | ({} if subject.is_over else {"events": f"{way}/events"})
    links = [
        ("Compare with another", f"{prefix_of(request)}/compare?episode={quote(ref, safe='')}"),
        ("Steps as a table", f"{way}/steps"),
    ]
    return viewer(request, f"{subject.id} - {subject.scenario}", source, links)


async def _steps(house: House, request: Request, ref: str) -> Response:
    """Show the steps of an episode as a table, for whoever has no scripts. Raises UnknownEpisodeError (404)."""
    document = await document_for(house, request, ref)
    return page(request, "steps.html", "episodes", episode=document, facts=document.facts, ref=ref)
