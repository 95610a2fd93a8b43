"""Request context of an operation: database, simulated time, company and random streams."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, cast

from fastapi import Depends, Request
from sqlalchemy import Connection

from companyos_shared.chassis import due
from companyos_shared.chassis.driver import driver_of
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company
from companyos_shared.wire.context import Actor

SCOPE_KEY = "companyos.call"

_START = "INSERT OR REPLACE INTO _sequences (name, last) VALUES (?, ?)"
_LAST = "SELECT last FROM _sequences WHERE name = ?"


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
    idempotency: tuple[str, str] | None = field(default=None, repr=False)

    @property
    def person(self) -> str:
        """The id of the employee that the caller acts as."""
        return self.company.agent_id

    def stream(self, purpose: str, entity: str | int, n: int = 0) -> Stream:
        """Return the stream of (seed, service, purpose, entity, n). A key must not contain step, time or attempt."""
        return Stream(self.draw_seed, self.service, purpose, entity, n)

    def schedule(self, due_at: datetime, happening: str, payload: dict[str, Any]) -> None:
        """Schedule an event at `due_at` with the same cause as this call."""
        due.schedule(self.db, due_at=due_at, happening=happening, payload=payload, cause=self.cause)

    def start_numbering(self, sequence: str, last: int) -> None:
        """Set the last used number of a sequence."""
        driver_of(self.db).execute(_START, (sequence, last))

    def next_number(self, sequence: str) -> int:
        """Return the next number of a sequence of the episode, starting at 1 by default."""
        row = driver_of(self.db).execute(_LAST, (sequence,)).fetchone()
        number = 1 if row is None else int(row[0]) + 1
        self.start_numbering(sequence, number)
        return number


async def _current_call(request: Request) -> Call:
    return cast(Call, request.scope[SCOPE_KEY])


CallDep = Annotated[Call, Depends(_current_call)]
"""Route parameter that injects the request's call."""
