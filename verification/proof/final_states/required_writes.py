"""Determines the required writes of an oracle: those that no other write replaces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from companyos_shared.wire.control import Row
from verification.proof.episode_runner import RecordedEpisode
from verification.proof.final_states.final_state import FinalState

_MOVES = frozenset({"tickets", "transitions"})


def required_causes(oracle_run: RecordedEpisode) -> list[str]:
    """Return the causes of all writes except pure transitions to an intermediate status."""
    causes = dict.fromkeys(change["cause"] for change in _changes(oracle_run) if change["cause"] is not None)
    return [cause for cause in causes if not _only_intermediate(oracle_run, cause)]


def is_between_states(oracle_run: RecordedEpisode, step: int) -> bool:
    """Return whether a step only moved a ticket to an intermediate status, or had no writes."""
    causes = {
        change["cause"] for change in _changes(oracle_run) if change["step"] == step and change["actor"] == "agent"
    }
    return all(_only_intermediate(oracle_run, cause) for cause in causes)


def _only_intermediate(oracle_run: RecordedEpisode, cause: str) -> bool:
    rows = [change for change in _changes(oracle_run) if change["cause"] == cause]
    tickets = [change for change in rows if change["table"] == "tickets"]
    return (
        bool(tickets)
        and {change["table"] for change in rows} <= _MOVES
        and all(map(_is_intermediate(oracle_run), tickets))
    )


def _is_intermediate(oracle_run: RecordedEpisode) -> Any:
    ends = {key: row["status"] for key, row in FinalState(oracle_run).evidence().table("ticketdesk", "tickets").items()}

    def is_intermediate(change: Row) -> bool:
        before, after = change["before"], change["after"]
        return bool(before["status"] != after["status"] and after["status"] != ends.get(change["key"]))

    return is_intermediate


def _changes(oracle_run: RecordedEpisode) -> Iterator[Row]:
    for rows in oracle_run.stored["changes"].values():
        yield from rows
