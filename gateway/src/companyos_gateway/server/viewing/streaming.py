"""A live episode as a stream of events: each step the moment it is committed, one at a time in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import orjson
from fastapi.sse import ServerSentEvent

from companyos_gateway.episode.episode import Episode
from companyos_gateway.server.viewing.lines import JournalLines
from companyos_gateway.server.viewing.news import News
from companyos_gateway.server.viewing.subject import Subject
from companyos_gateway.server.viewing.telling import Teller, document_of

STEP, EPISODE, END, AGAIN = "step", "episode", "end", "again"

_ADDRESSES = {"document", "judged", "events"}
"""Whoever follows an episode knows where it is."""


async def events_of(
    episode: Episode, look: Callable[[Episode], Subject], news: News, closing: asyncio.Event, *, after: int
) -> AsyncIterator[ServerSentEvent]:
    """Yield what happens to an episode after a step, until it ends or the house does.

    `again` says that the episode stands elsewhere than the one who asks knows: it was restored.
    """
    subject = look(episode)
    epoch, told_verdict = episode.epoch, None
    if after > subject.step:
        yield _event(AGAIN, {}, after)
        return
    with news.about(episode.internal_id) as bell, JournalLines(subject.journal) as journal, _rung_by(closing, bell):
        teller = Teller(subject)
        while not closing.is_set():
            bell.clear()
            for step in teller.steps(journal.further()):
                if step.number > after:
                    yield _event(STEP, step.model_dump(mode="json"), step.number)
            if episode.epoch != epoch:
                yield _event(AGAIN, {}, subject.step)
                return
            subject = look(episode)
            parts = _parts(subject, with_verdict=subject.verdict is not told_verdict)
            told_verdict = subject.verdict
            if subject.is_over:
                yield _event(END, parts | await asyncio.to_thread(_reasons, subject), subject.step)
                return
            yield _event(EPISODE, parts, subject.step)
            await bell.wait()


def _parts(subject: Subject, *, with_verdict: bool) -> dict[str, Any]:
    """Return the fields of the whole that a step changes."""
    told: dict[str, Any] = {"facts": subject.facts(subject.id).model_dump(mode="json", exclude=_ADDRESSES)}
    if with_verdict:
        told["verdict"] = subject.judgement().model_dump(mode="json")
    if subject.finish is not None:
        told["finish"] = subject.finish.model_dump(mode="json")
    return told


def _reasons(subject: Subject) -> dict[str, Any]:
    """Return why the verdict is as it is, which takes the whole journal; nothing where that is gone."""
    if not subject.journal.exists():
        return {}
    return {"reasons": [one.model_dump(mode="json") for one in document_of(subject, subject.id).reasons]}


def _event(kind: str, data: dict[str, Any], number: int) -> ServerSentEvent:
    return ServerSentEvent(event=kind, raw_data=orjson.dumps(data).decode(), id=str(number))


@contextmanager
def _rung_by(closing: asyncio.Event, bell: asyncio.Event) -> Iterator[None]:
    """Let a bell ring when the house begins to end as well."""
    waiting = asyncio.get_running_loop().create_task(closing.wait())
    waiting.add_done_callback(lambda _done: bell.set())
    try:
        yield
    finally:
        waiting.cancel()
