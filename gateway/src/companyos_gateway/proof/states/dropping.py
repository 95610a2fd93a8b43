"""Which writes of an oracle are required: those whose absence no other write makes good."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from companyos_gateway.proof.playing import Kept
from companyos_gateway.proof.states.ending import Ending

Row = dict[str, Any]

_MOVES = frozenset({"tickets", "transitions"})


def required_causes(way: Kept) -> list[str]:
    """Return the calls without which the end is another one: all that wrote, but for steps between two states."""
    causes = dict.fromkeys(change["cause"] for change in _changes(way) if change["cause"] is not None)
    return [cause for cause in causes if not _only_passes_by(way, cause)]


def is_between_states(way: Kept, step: int) -> bool:
    """Say whether a step only moved a ticket to a status that it did not end in, or changed nothing."""
    causes = {change["cause"] for change in _changes(way) if change["step"] == step and change["actor"] == "agent"}
    return all(_only_passes_by(way, cause) for cause in causes)


def _only_passes_by(way: Kept, cause: str) -> bool:
    rows = [change for change in _changes(way) if change["cause"] == cause]
    tickets = [change for change in rows if change["table"] == "tickets"]
    return bool(tickets) and {change["table"] for change in rows} <= _MOVES and all(map(_passes(way), tickets))


def _passes(way: Kept) -> Any:
    ends = {key: row["status"] for key, row in Ending(way).evidence().table("ticketdesk", "tickets").items()}

    def passes(change: Row) -> bool:
        before, after = change["before"], change["after"]
        return bool(before["status"] != after["status"] and after["status"] != ends.get(change["key"]))

    return passes


def _changes(way: Kept) -> Iterator[Row]:
    for rows in way.stored["changes"].values():
        yield from rows
