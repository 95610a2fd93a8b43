"""An open epoch of an episode: its connection, what its calls stand on, and what is remembered between them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection

from companyos_shared.chassis import due
from companyos_shared.chassis.applied import applied_step
from companyos_shared.chassis.changes import last_change
from companyos_shared.wire.company import Company
from companyos_shared.wire.control import Report


@dataclass(slots=True)
class Premise:
    """What every call of an episode stands on, parsed once per source."""

    company: Company
    draw_seed: str
    started_at: datetime


@dataclass(slots=True)
class Session:
    """An open epoch: its connection, and what is cheap to remember between calls."""

    episode: str
    epoch: int
    source: str
    path: Path
    db: Connection
    premise: Premise
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    last_seq: int = 0
    applied_step: int = 0
    next_due_at: datetime | None = None

    def recall(self) -> None:
        """Read from the database what is remembered between calls."""
        self.last_seq = last_change(self.db)
        self.applied_step = applied_step(self.db)
        self.next_due_at = due.next_due_at(self.db)

    def move_on(self, report: Report, *, step: int) -> None:
        """Remember what a committed write reported."""
        self.last_seq = report.changes[-1].seq if report.changes else self.last_seq
        self.applied_step = step or self.applied_step
        self.next_due_at = report.next_due_at

    def close(self) -> None:
        """Close the connection; the file stays."""
        self.db.close()
