"""A live episode as a stream of events: each step the moment it is committed, one at a time in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import orjson

from companyos_gateway.engine.episode import Episode
from companyos_gateway.viewer.episode_source import EpisodeSource
from companyos_gateway.viewer.journal_tail import JournalTail
from companyos_gateway.viewer.notifier import EpisodeNotifier
from companyos_gateway.viewer.serialize import StepSerializer, serialize_episode

STEP, EPISODE, END, RELOAD = "step", "episode", "end", "again"

_ADDRESS_FIELDS = {"document", "judged", "events"}
"""Whoever follows an episode knows where it is."""


class StreamEvent(NamedTuple):
    """One server-sent event: its type, its JSON data and its id."""

    event: str
    data: str
    id: str


async def stream_events(
    episode: Episode,
    read_source: Callable[[Episode], EpisodeSource],
    notifier: EpisodeNotifier,
    shutdown: asyncio.Event,
    *,
    after: int,
) -> AsyncIterator[StreamEvent]:
    """Yield the events of an episode after a step, until it ends or the gateway stops.

    `again` says that the episode stands elsewhere than the one who asks knows: it was restored.
    """
    source = read_source(episode)
    epoch, sent_verdict = episode.epoch, None
    if after > source.step:
        yield _event(RELOAD, {}, after)
        return
    with (
        notifier.subscribe(episode.internal_id) as wakeup,
        JournalTail(source.journal) as journal,
        _wake_on(shutdown, wakeup),
    ):
        serializer = StepSerializer(source)
        while not shutdown.is_set():
            wakeup.clear()
            for step in serializer.steps(journal.read_new_steps()):
                if step.number > after:
                    yield _event(STEP, step.model_dump(mode="json"), step.number)
            if episode.epoch != epoch:
                yield _event(RELOAD, {}, source.step)
                return
            source = read_source(episode)
            changed_fields = _changed_fields(source, with_verdict=source.verdict is not sent_verdict)
            sent_verdict = source.verdict
            if source.is_over:
                yield _event(END, changed_fields | await asyncio.to_thread(_reasons, source), source.step)
                return
            yield _event(EPISODE, changed_fields, source.step)
            await wakeup.wait()


def _changed_fields(source: EpisodeSource, *, with_verdict: bool) -> dict[str, Any]:
    """Return the fields of the whole that a step changes."""
    fields: dict[str, Any] = {"facts": source.facts(source.id).model_dump(mode="json", exclude=_ADDRESS_FIELDS)}
    if with_verdict:
        fields["verdict"] = source.to_verdict().model_dump(mode="json")
    if source.finish is not None:
        fields["finish"] = source.finish.model_dump(mode="json")
    return fields


def _reasons(source: EpisodeSource) -> dict[str, Any]:
    """Return why the verdict is as it is, which takes the whole journal; nothing where that is gone."""
    if not source.journal.exists():
        return {}
    return {"reasons": [one.model_dump(mode="json") for one in serialize_episode(source, source.id).reasons]}


def _event(kind: str, data: dict[str, Any], number: int) -> StreamEvent:
    return StreamEvent(kind, orjson.dumps(data).decode(), str(number))


@contextmanager
def _wake_on(shutdown: asyncio.Event, wakeup: asyncio.Event) -> Iterator[None]:
    """Also wake the viewer when the gateway starts to drain."""
    waiting = asyncio.get_running_loop().create_task(shutdown.wait())
    waiting.add_done_callback(lambda _done: wakeup.set())
    try:
        yield
    finally:
        waiting.cancel()
