"""A version of a policy as the rules see it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from sqlalchemy import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyVersion:
    """When a version of a policy holds: from a day to a day, both included."""

    id: str
    policy_id: str
    version: int
    effective_from: date
    effective_to: date | None

    @classmethod
    def from_row(cls, row: Row[Any]) -> PolicyVersion:
        """Read the columns of the table `policies` that tell when a version holds."""
        return cls(
            id=row.id,
            policy_id=row.policy_id,
            version=row.version,
            effective_from=row.effective_from,
            effective_to=row.effective_to,
        )
