"""What a reference means: `episodes/ID` a live episode or the last of that id, `finished/KEY` one that is over."""

from __future__ import annotations

import asyncio
import re
from urllib.parse import unquote

from fastapi import Request

from companyos.viewer import EpisodeDocument, EpisodeFacts
from companyos_gateway.episode.errors import UnknownEpisodeError
from companyos_gateway.server.console.showing import prefix_of
from companyos_gateway.server.house import House
from companyos_gateway.server.viewing.subject import Subject
from companyos_gateway.server.viewing.telling import document_of

EPISODES, FINISHED = "episodes", "finished"

_STORED = re.compile(r"results/(?P<run>[^/]+)/episodes/(?P<name>[^/]+)")


def subject_of(house: House, ref: str) -> Subject:
    """Return the episode that is meant, live or over. Raises UnknownEpisodeError (404)."""
    kind, _, name = ref.partition("/")
    stage, finished = house.stage(), house.watch.finished
    if kind == EPISODES and stage.store.has(name):
        return house.watch.subject(stage.store.get(name))
    found = None
    if finished is not None:
        found = finished.last_of(name) if kind == EPISODES else finished.get(name)
    if found is None:
        raise UnknownEpisodeError("It is neither live nor kept.")
    return found


async def document_for(house: House, request: Request, ref: str) -> EpisodeDocument:
    """Return the whole document of an episode, read beside the steps that are taken. Raises UnknownEpisodeError
    (404).
    """
    subject = subject_of(house, ref)
    document = await asyncio.to_thread(document_of, subject, _name(subject, ref))
    if not subject.is_over:
        document.facts.events = f"{prefix_of(request)}/{ref}/events"
    return document


async def facts_for(house: House, request: Request, ref: str) -> EpisodeFacts:
    """Return the facts of an episode with where it is read; `results/RUN/episodes/NAME` is one of a run.

    Raises UnknownEpisodeError or UnknownRun (404).
    """
    way = f"{prefix_of(request)}/{ref}"
    stored = _STORED.fullmatch(ref)
    if stored is not None:
        run, name = unquote(stored["run"]), unquote(stored["name"])
        document = await asyncio.to_thread(house.runs().episode, run, name)
        return document.facts.model_copy(update={"name": f"{run}/{name}", "document": f"{way}/document"})
    subject = subject_of(house, ref)
    events = {} if subject.is_over else {"events": f"{way}/events"}
    return subject.facts(_name(subject, ref)).model_copy(update={"document": f"{way}/document", **events})


def _name(subject: Subject, ref: str) -> str:
    return subject.id if ref.startswith(f"{EPISODES}/") else subject.key
