"""Resolves references: `episodes/ID` is a live episode or the last one of that id, `finished/KEY` a finished one."""

from __future__ import annotations

import asyncio
import re
from urllib.parse import unquote

from fastapi import Request

from companyos.contract import Modality
from companyos.viewer import EpisodeDocument, EpisodeFacts
from companyos_gateway.engine.errors import UnknownEpisodeError
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.ui.console.base_view import prefix_of
from companyos_gateway.viewer.episode_source import EpisodeSource
from companyos_gateway.viewer.screenshot_files import StoredScreenshot
from companyos_gateway.viewer.serialize import serialize_episode

EPISODES, FINISHED = "episodes", "finished"

_RUN_EPISODE_REF = re.compile(r"results/(?P<run>[^/]+)/episodes/(?P<name>[^/]+)")


def resolve_episode(runtime: GatewayRuntime, ref: str) -> EpisodeSource:
    """Return the live or finished episode of a reference; raises UnknownEpisodeError (404)."""
    kind, _, name = ref.partition("/")
    engine, finished = runtime.engine(), runtime.metrics.finished
    if kind == EPISODES and engine.store.has(name):
        return runtime.metrics.source(engine.store.get(name))
    source = None
    if finished is not None:
        source = finished.find_latest(name) if kind == EPISODES else finished.get(name)
    if source is None:
        raise UnknownEpisodeError("The episode is neither live nor stored.")
    return source


async def load_document(runtime: GatewayRuntime, request: Request, ref: str) -> EpisodeDocument:
    """Return the document of an episode, read in a thread; raises UnknownEpisodeError (404)."""
    source = resolve_episode(runtime, ref)
    task = await runtime.engine().task_cache.task(source.task_key)
    document = await asyncio.to_thread(serialize_episode, source, task, _display_name(source, ref))
    path = f"{prefix_of(request)}/{ref}"
    if not source.is_over:
        document.facts.events = f"{path}/events"
    if source.options.modality is Modality.SCREENSHOT:
        document.facts.screenshots = f"{path}/screenshots"
    return document


def list_screenshots(runtime: GatewayRuntime, ref: str) -> list[StoredScreenshot]:
    """Return the stored screenshots of an episode; raises UnknownEpisodeError (404)."""
    source, finished = resolve_episode(runtime, ref), runtime.metrics.finished
    return [] if finished is None else finished.screenshots.list_all(source.key)


async def load_facts(runtime: GatewayRuntime, request: Request, ref: str) -> EpisodeFacts:
    """Return the facts of an episode with the URL of its document; `results/RUN/episodes/NAME` refers to a run.

    Raises UnknownEpisodeError or UnknownRunError (404).
    """
    path = f"{prefix_of(request)}/{ref}"
    match = _RUN_EPISODE_REF.fullmatch(ref)
    if match is not None:
        run, name = unquote(match["run"]), unquote(match["name"])
        document = await asyncio.to_thread(runtime.runs().episode, run, name)
        return document.facts.model_copy(update={"name": f"{run}/{name}", "document": f"{path}/document"})
    source = resolve_episode(runtime, ref)
    events = {} if source.is_over else {"events": f"{path}/events"}
    return source.facts(_display_name(source, ref)).model_copy(update={"document": f"{path}/document", **events})


def _display_name(source: EpisodeSource, ref: str) -> str:
    return source.id if ref.startswith(f"{EPISODES}/") else source.key
