"""One row written, as the viewer tells it: column by column, before and after."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from companyos.viewer.document import ColumnChange, RowChange

_LABELS = ("title", "name", "text", "body")
_MOST_LABEL_CHARS = 80


class ChangeLine(BaseModel):
    """One row written, as the services report it: `before` is null for an insert, `after` for a delete."""

    model_config = ConfigDict(extra="ignore")

    step: int
    at: datetime
    actor: str
    cause: str | None
    table: str
    key: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


def row_change(service: str, change: ChangeLine) -> RowChange:
    """Return what became of the row."""
    before, after = change.before or {}, change.after or {}
    names = list({**before, **after})
    columns = [
        ColumnChange(column=name, before=before.get(name), after=after.get(name))
        for name in names
        if change.before is None or change.after is None or before.get(name) != after.get(name)
    ]
    return RowChange(
        service=service,
        table=change.table,
        key=change.key,
        label=_label(after or before),
        kind="added" if change.before is None else "deleted" if change.after is None else "changed",
        actor=change.actor,
        caused_by=_step_of(change.cause),
        at=change.at,
        columns=columns,
        same_columns=len(names) - len(columns),
    )


def _label(row: dict[str, Any]) -> str | None:
    for name in _LABELS:
        if isinstance(row.get(name), str) and row[name].strip():
            text = " ".join(row[name].split())
            return text if len(text) <= _MOST_LABEL_CHARS else text[: _MOST_LABEL_CHARS - 1] + "…"
    return None


def _step_of(cause: str | None) -> int | None:
    """Return the step of an op id, `episode:epoch:step`."""
    step = (cause or "").rpartition(":")[2]
    return int(step) if step.isascii() and step.isdigit() else None
