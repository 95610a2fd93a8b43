"""A metric as the rules see it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """What one source says about one key of one subject; `as_of` is when the value was true."""

    id: str
    key: str
    subject: str
    title: str
    value: float
    unit: str
    as_of: datetime
    source_id: str

    @classmethod
    def from_row(cls, row: Row[Any]) -> Metric:
        """Read a row of the table `metrics`."""
        return cls(**row._mapping)
