"""Request context of an operation: database, simulated time, company and random streams."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, cast

from fastapi import Depends, Request
from sqlalchemy import Connection

from companyos_shared.framework import scheduled_events
from companyos_shared.framework.storage import sqlite_connection
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company
from companyos_shared.wire.context import Actor

SCOPE_KEY = "companyos.call"

_SET_SEQUENCE = (
    "INSERT INTO _sequences (name, last) VALUES (?, ?) ON CONFLICT DO UPDATE SET last = MAX(last, excluded.last)"
)
_SELECT_SEQUENCE = "SELECT last FROM _sequences WHERE name = ?"
_TRAILING_NUMBER = re.compile(r"(?<![0-9])[0-9]+$")


@dataclass(slots=True)
class Call:
    """One request in an open transaction of one episode."""

    db: Connection
    now: datetime
    company: Company
    service: str
    draw_seed: str
    actor: Actor = Actor.AGENT
    cause: str | None = None
    has_base: bool = False
    """True if the episode also contains the rows of a base."""
    idempotency: tuple[str, str] | None = field(default=None, repr=False)
    shown: list[dict[str, Any]] = field(default_factory=list, repr=False)
    """The objects that a page shows, with the shown attributes."""

    @property
    def person(self) -> str:
        """The id of the employee that the caller acts as."""
        return self.company.agent_id

    def stream(self, purpose: str, entity: str | int, n: int = 0) -> Stream:
        """Return the stream of (seed, service, purpose, entity, n). A key must not contain step, time or attempt."""
        return Stream(self.draw_seed, self.service, purpose, entity, n)

    def schedule(self, due_at: datetime, kind: str, payload: dict[str, Any]) -> None:
        """Schedule an event at `due_at` with the same cause as this call."""
        scheduled_events.schedule(self.db, due_at=due_at, kind=kind, payload=payload, cause=self.cause)

    def suspend(self, kind: str, payload: dict[str, Any]) -> None:
        """Suspend an event until `wake` is called with its kind and the `key` of its payload."""
        self.schedule(scheduled_events.NEVER, kind, payload)

    def wake(self, kind: str, key: str, due_at: datetime) -> None:
        """Schedule the suspended events of a kind and key at `due_at`."""
        scheduled_events.wake(self.db, kind=kind, key=key, due_at=due_at)

    def start_numbering(self, sequence: str, last: int) -> None:
        """Set the last used number of a sequence, unless a higher one has been used."""
        sqlite_connection(self.db).execute(_SET_SEQUENCE, (sequence, last))

    def number_after(self, sequence: str, ids: Iterable[str]) -> None:
        """Start a sequence after the highest number at the end of ids."""
        matches = (_TRAILING_NUMBER.search(one) for one in ids)
        self.start_numbering(sequence, max((int(match.group()) for match in matches if match), default=0))

    def next_number(self, sequence: str) -> int:
        """Return the next number of a sequence of the episode, starting at 1 by default."""
        row = sqlite_connection(self.db).execute(_SELECT_SEQUENCE, (sequence,)).fetchone()
        number = 1 if row is None else int(row[0]) + 1
        self.start_numbering(sequence, number)
        return number


async def _current_call(request: Request) -> Call:
    return cast(Call, request.scope[SCOPE_KEY])


CallDep = Annotated[Call, Depends(_current_call)]
"""Route parameter that injects the request's call."""
