"""Standalone mode: one local episode with demo data, a clock that is advanced through the API, and no signatures.

A reset starts the episode's next epoch from a seed document, with faults for its next calls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from pydantic_core import to_json

from companyos_shared.framework.columns import format_time
from companyos_shared.framework.database import read_meta, write_meta
from companyos_shared.framework.episodes import Episodes
from companyos_shared.framework.errors import InvalidArgumentsError, InvalidSeedError
from companyos_shared.framework.sessions import Session
from companyos_shared.framework.storage import commit
from companyos_shared.streams import digest
from companyos_shared.wire.context import Actor, CallContext, Fault

LAST_YEAR = 2999

_CLOCK = "standalone_now"


class StandaloneEpisode:
    """The episode of a standalone service; it survives restarts if the data folder is persistent."""

    def __init__(self, episodes: Episodes) -> None:
        service = episodes.service
        self._demo_seed = service.demo_seed()
        content = self._demo_seed.model_dump_json().encode()
        self._episodes = episodes
        self._source = service.source_of(content)
        self._episode = f"local-{digest([self._source, episodes.database.schema])[:12]}"
        epochs = {stored.id: stored.epochs for stored in episodes.inventory().episodes}
        self._epoch = max(epochs.get(self._episode, ()), default=1)
        self._faults: deque[Fault | None] = deque()
        episodes.sources.load(self._source, content)

    def context(self, *, is_write: bool, is_operation: bool) -> CallContext:
        """Return the context of the next call. Each write is a step; an operation takes the next fault, if any."""
        session = self.session()
        step = session.applied_step + 1 if is_write else session.applied_step
        fault = self._faults.popleft() if is_operation and self._faults else None
        return self._context(step, self.now(), fault)

    def session(self) -> Session:
        """Return the open local episode."""
        return self._episodes.session(self._context(0, self._demo_seed.started_at))

    def now(self) -> datetime:
        """Return the simulated time."""
        session = self.session()
        stored = read_meta(session.db, _CLOCK)
        return session.constants.started_at if stored is None else datetime.fromisoformat(stored)

    def reset(
        self, document: Mapping[str, Any] | None, now: datetime | None, faults: Iterable[Fault | None]
    ) -> CallContext:
        """Start the next epoch from a document, by default the demo data, and return the context to settle with.

        `now` is the simulated time, by default the document's `started_at`. Raises InvalidSeedError or
        InvalidArgumentsError (422), after which the current epoch continues, or StorageFullError (507).
        """
        seed = self._demo_seed.model_dump(mode="json") if document is None else dict(document)
        for name in ("base", "is_base"):
            if seed.get(name):
                raise InvalidSeedError(f"{name} must be absent in the document of a standalone service")
        content = to_json(seed)
        source = self._episodes.service.source_of(content)
        self._episodes.sources.load(source, content)
        started_at = self._episodes.service.seed.model_validate(seed).started_at
        if now is not None and now < started_at:
            raise InvalidArgumentsError(
                f"now must not be before {format_time(started_at)}, the document's started_at; got {format_time(now)}"
            )
        self._source, self._epoch = source, self._epoch + 1
        self._faults = deque(faults)
        return self._write_clock(now or started_at)  # creates the epoch's file, so that a restart finds it

    def move_clock(self, minutes: int) -> CallContext:
        """Advance the simulated time and return the context to settle with; raises InvalidArgumentsError (422)."""
        now = self.now() + timedelta(minutes=minutes)
        if now.year > LAST_YEAR:
            raise InvalidArgumentsError(f"the time must be before the year {LAST_YEAR + 1}; got {now.year}")
        return self._write_clock(now)

    def _write_clock(self, now: datetime) -> CallContext:
        session = self.session()
        context = self._context(session.applied_step, now)
        self._episodes.begin(session, context)
        write_meta(session.db, {_CLOCK: format_time(now)})
        commit(session.db)
        return context

    def _context(self, step: int, now: datetime, fault: Fault | None = None) -> CallContext:
        return CallContext(
            episode=self._episode,
            epoch=self._epoch,
            source=self._source,
            step=step,
            actor=Actor.AGENT,
            now=now,
            fault=fault,
        )
