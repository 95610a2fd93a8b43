"""Versions of policies."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from sqlalchemy import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyVersion:
    """A policy version with its first and last day, both included."""

    id: str
    policy_id: str
    version: int
    effective_from: date
    effective_to: date | None

    @classmethod
    def from_row(cls, row: Row[Any]) -> PolicyVersion:
        """Return the version of a row of the table `policies`."""
        return cls(
            id=row.id,
            policy_id=row.policy_id,
            version=row.version,
            effective_from=row.effective_from,
            effective_to=row.effective_to,
        )
