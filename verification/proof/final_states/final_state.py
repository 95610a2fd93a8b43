"""Mutable final states: recorded evidence that can be rewritten as if the episode had been different."""

from __future__ import annotations

from typing import Any

import orjson

from companyos_gateway.evaluation import Evidence, FinishDeclaration, Verdict
from companyos_gateway.evaluation.evidence import same_value
from companyos_gateway.evaluation.mismatch import row_path
from companyos_gateway.evaluation.rubric import DECLARATION
from companyos_gateway.scenarios import Instance
from companyos_shared.wire.control import Row
from verification.proof.episode_runner import RecordedEpisode


class FinalState:
    """The mutable evidence of an episode."""

    def __init__(self, kept: RecordedEpisode) -> None:
        self.instance: Instance = kept.instance
        self.finish: FinishDeclaration | None = kept.finish
        stored = kept.stored
        self.initial: dict[str, dict[str, dict[str, Row]]] = stored["initial"]
        self.changes: dict[str, list[Row]] = orjson.loads(orjson.dumps(stored["changes"]))
        self.audits: dict[str, list[Row]] = orjson.loads(orjson.dumps(stored["audits"]))
        self.views: list[Row] = list(stored["views"])
        self.declared_at: str | None = stored["declared_at"]

    def is_unchanged(self, kept: RecordedEpisode) -> bool:
        """Return whether the state equals that of the recorded episode."""
        same = self.changes == kept.stored["changes"] and self.audits == kept.stored["audits"]
        planted = self.initial is kept.stored["initial"]
        return same and planted and self.finish == kept.finish and self.declared_at == kept.stored["declared_at"]

    def changed_entities(self, kept: RecordedEpisode) -> set[str]:
        """Return the rows whose initial state or changes differ from those of the recorded episode.

        The set contains `finish` if the declaration differs.
        """
        ours, theirs = _changes_by_row(self.changes), _changes_by_row(kept.stored["changes"])
        changed = {row for row in ours.keys() | theirs.keys() if ours.get(row) != theirs.get(row)}
        is_same = (self.finish, self.declared_at) == (kept.finish, kept.stored["declared_at"])
        return changed | self._changed_initial_rows(kept.stored["initial"]) | (set() if is_same else {DECLARATION})

    def _changed_initial_rows(self, recorded: dict[str, dict[str, dict[str, Row]]]) -> set[str]:
        """Return the rows whose initial state differs. A table that was not rewritten is the recorded object."""
        return {
            row_path(service, table, key)
            for service, tables in self.initial.items()
            for table, rows in tables.items()
            if rows is not (before := recorded[service].get(table, {}))
            for key in rows.keys() | before.keys()
            if rows.get(key) != before.get(key)
        }

    def judge(self) -> Verdict:
        """Judge the current state."""
        return self.instance.rubric.judge(self.evidence(), self.finish)

    def stored(self) -> dict[str, Any]:
        """Return the evidence in its stored form."""
        for changes in self.changes.values():
            for seq, change in enumerate(changes, start=1):
                change["seq"] = seq
        recorded = {"initial": self.initial, "changes": self.changes, "audits": self.audits, "views": self.views}
        return {**recorded, "declared_at": self.declared_at}

    def evidence(self) -> Evidence:
        """Return the evidence."""
        return Evidence.from_json(self.stored())

    def row(self, service: str, table: str, key: str) -> Row | None:
        """Return a row's final state, or None if it does not exist."""
        changes = self.changes_of(service, table, key) if service in self.changes else []
        row: Row | None = changes[-1]["after"] if changes else self.initial[service].get(table, {}).get(key)
        return row

    def set(self, service: str, table: str, key: str, **columns: Any) -> None:
        """Append a change of columns of a row, as the agent."""
        before = self.row(service, table, key)
        assert before is not None, (service, table, key)
        if all(same_value(before.get(name), value) for name, value in columns.items()):
            return
        self._append(service, table, key, before, {**before, **columns})

    def add(self, service: str, table: str, key: str, row: Row) -> None:
        """Append the creation of a row, as the agent."""
        self._append(service, table, key, None, row)

    def delete(self, service: str, table: str, key: str) -> None:
        """Append the deletion of a row, as the agent."""
        self._append(service, table, key, self.row(service, table, key), None)

    def changes_of(self, service: str, table: str, key: str) -> list[Row]:
        """Return the recorded changes of a row, in order."""
        return [one for one in self.changes[service] if (one["table"], one["key"]) == (table, key)]

    def rewrite(self, service: str, table: str, key: str, **columns: Any) -> None:
        """Overwrite columns in every recorded change of a row."""
        for change in self.changes_of(service, table, key):
            for side in ("before", "after"):
                if change[side] is not None:
                    change[side].update(columns)

    def change_initial_row(self, service: str, table: str, key: str, **columns: Any) -> None:
        """Overwrite columns of a row's initial state; does nothing if there is none."""
        rows = self.initial[service][table]
        if key in rows:
            tables = {**self.initial[service], table: {**rows, key: {**rows[key], **columns}}}
            self.initial = {**self.initial, service: tables}

    def add_initial_row(self, service: str, table: str, key: str, row: Row) -> None:
        """Add a row to the initial state."""
        rows = {**self.initial[service].get(table, {}), key: row}
        self.initial = {**self.initial, service: {**self.initial[service], table: rows}}

    def undo(self, service: str, table: str, key: str, *columns: str) -> None:
        """Reset columns of a row to their initial values; a row that was created in the episode is removed."""
        first = self.initial[service][table].get(key)
        if first is None:
            self.changes[service] = [change for change in self.changes[service] if change["key"] != key]
        else:
            self.set(service, table, key, **{name: first[name] for name in columns})

    def cut(self, step: int) -> None:
        """Truncate the episode after a step."""
        self.changes = {name: [row for row in rows if row["step"] <= step] for name, rows in self.changes.items()}
        self.audits = {name: [row for row in rows if row["step"] <= step] for name, rows in self.audits.items()}
        self.views = [view for view in self.views if view["step"] <= step]

    def drop(self, cause: str) -> None:
        """Remove the changes of one call, and adjust later changes of the same rows."""
        for service, changes in self.changes.items():
            kept: list[Row] = []
            undone: dict[tuple[str, str], Row] = {}
            never_made: set[tuple[str, str]] = set()
            for change in changes:
                place = (change["table"], change["key"])
                if change["cause"] == cause and change["before"] is None:
                    never_made.add(place)
                if place in never_made:
                    continue
                if change["cause"] == cause:
                    undone.setdefault(place, {}).update(_reverted(change))
                    continue
                kept.append({**change, **_rebased(change, undone.get(place, {}))})
            self.changes[service] = kept

    def _append(self, service: str, table: str, key: str, before: Row | None, after: Row | None) -> None:
        changes = self.changes.setdefault(service, [])
        step = max((change["step"] for rows in self.changes.values() for change in rows), default=0)
        at = max((change["at"] for rows in self.changes.values() for change in rows), default="2026-01-01T00:00:00Z")
        change = {"step": step, "at": at, "actor": "agent", "cause": "x:1:1", "table": table, "key": key}
        changes.append({"seq": len(changes) + 1, **change, "before": before, "after": after})


def _changes_by_row(changes: dict[str, list[Row]]) -> dict[str, list[Any]]:
    """Return the changes of each row in order, by its path in verdicts."""
    by_row: dict[str, list[Any]] = {}
    for service, lines in changes.items():
        for line in lines:
            path = row_path(service, line["table"], line["key"])
            by_row.setdefault(path, []).append((line["step"], line["before"], line["after"]))
    return by_row


def _reverted(change: Row) -> Row:
    """Return the columns that a change wrote, with their previous values."""
    before, after = change["before"], change["after"] or {}
    return {name: value for name, value in before.items() if after.get(name) != value}


def _rebased(change: Row, undone: Row) -> Row:
    """Return both sides of a change with undone columns reset, except for columns that the change itself wrote."""
    before, after = change["before"], change["after"]
    if before is None or after is None:
        return {"before": before, "after": after}
    own = {name for name, value in after.items() if before.get(name) != value}
    left = {name: value for name, value in undone.items() if name not in own}
    return {"before": {**before, **undone}, "after": {**after, **left}}
