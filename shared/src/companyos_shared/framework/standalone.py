"""Standalone mode: one local episode with demo data, a clock that is advanced through the API, and no signatures."""

from __future__ import annotations

from datetime import datetime, timedelta

from companyos_shared.framework.columns import format_time
from companyos_shared.framework.database import read_meta, write_meta
from companyos_shared.framework.episodes import Episodes
from companyos_shared.framework.errors import InvalidArgumentsError
from companyos_shared.framework.sessions import Session
from companyos_shared.framework.storage import commit
from companyos_shared.streams import digest
from companyos_shared.wire.context import Actor, CallContext

LAST_YEAR = 2999

_CLOCK = "standalone_now"


class StandaloneEpisode:
    """The episode of a standalone service; it survives restarts if the data folder does."""

    def __init__(self, episodes: Episodes) -> None:
        service = episodes.service
        document = service.demo_seed().model_dump(mode="json")
        self._episodes = episodes
        self._source = service.source_of(document)
        self._episode = f"local-{digest([self._source, episodes.database.schema])[:12]}"
        self._started_at = datetime.fromisoformat(format_time(service.demo_seed().started_at))
        episodes.sources.load(self._source, document)

    def context(self, *, is_write: bool) -> CallContext:
        """Return the context of the next call; each write is a step."""
        session = self.session()
        step = session.applied_step + 1 if is_write else session.applied_step
        return self._context(step, self.now())

    def session(self) -> Session:
        """Return the open local episode."""
        return self._episodes.session(self._context(0, self._started_at))

    def now(self) -> datetime:
        """Return the simulated time."""
        stored = read_meta(self.session().db, _CLOCK)
        return self._started_at if stored is None else datetime.fromisoformat(stored)

    def move_clock(self, minutes: int) -> CallContext:
        """Advance the simulated time and return the context to settle with; raises InvalidArgumentsError (422)."""
        session = self.session()
        now = self.now() + timedelta(minutes=minutes)
        if now.year > LAST_YEAR:
            raise InvalidArgumentsError(f"the time must be before the year {LAST_YEAR + 1}; got {now.year}")
        context = self._context(session.applied_step, now)
        self._episodes.begin(session, context)
        write_meta(session.db, {_CLOCK: format_time(now)})
        commit(session.db)
        return context

    def _context(self, step: int, now: datetime) -> CallContext:
        return CallContext(
            episode=self._episode, epoch=1, source=self._source, step=step, actor=Actor.AGENT, now=now, fault=None
        )
