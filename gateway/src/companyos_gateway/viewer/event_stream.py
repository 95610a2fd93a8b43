"""Server-sent events of a live episode. Each step is sent when it is committed."""

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
from companyos_gateway.viewer.serialize import StepSerializer

STEP, EPISODE, END, RELOAD = "step", "episode", "end", "again"

_ADDRESS_FIELDS = {"document", "judged", "events", "screenshots"}
"""Fields that clients of the stream already have."""


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
    """Yield the events of an episode after the step number `after`, until the episode ends or the gateway shuts down.

    The event `again` asks the client to reload, because the episode was restored.
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
        serializer = StepSerializer(source, episode.task)
        while not shutdown.is_set():
            wakeup.clear()
            for step in serializer.steps(journal.read_new_entries()):
                if step.number > after:
                    yield _event(STEP, step.model_dump(mode="json"), step.number)
            if episode.epoch != epoch:
                yield _event(RELOAD, {}, source.step)
                return
            source = read_source(episode)
            changed_fields = _changed_fields(source, with_verdict=source.verdict != sent_verdict)
            sent_verdict = source.verdict
            if source.is_over:
                yield _event(END, changed_fields, source.step)
                return
            yield _event(EPISODE, changed_fields, source.step)
            await wakeup.wait()


def _changed_fields(source: EpisodeSource, *, with_verdict: bool) -> dict[str, Any]:
    """Return the fields of the document that a step changes."""
    fields: dict[str, Any] = {"facts": source.facts(source.id).model_dump(mode="json", exclude=_ADDRESS_FIELDS)}
    if with_verdict and source.verdict is not None:
        fields["verdict"] = source.verdict.model_dump(mode="json")
    if source.finish is not None:
        fields["finish"] = source.finish.model_dump(mode="json")
    return fields


def _event(name: str, data: dict[str, Any], number: int) -> StreamEvent:
    return StreamEvent(name, orjson.dumps(data).decode(), str(number))


@contextmanager
def _wake_on(shutdown: asyncio.Event, wakeup: asyncio.Event) -> Iterator[None]:
    """Set `wakeup` on shutdown as well."""
    waiting = asyncio.get_running_loop().create_task(shutdown.wait())
    waiting.add_done_callback(lambda _done: wakeup.set())
    try:
        yield
    finally:
        waiting.cancel()
