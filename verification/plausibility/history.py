"""Histories are chains of allowed transitions, and comments fit the status of the ticket at that time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from companyos_gateway.world.pools import pool
from companyos_ticketdesk.tickets.model import MOVES
from verification.plausibility.facts import Facts, Found

_ALLOWED = {(before and before.value): frozenset(after.value for after in onward) for before, onward in MOVES.items()}
_STATUSES_OF_GROUP = {
    "in_progress": frozenset({"in_progress", "in_review", "blocked", "resolved", "closed"}),
    "in_review": frozenset({"in_review", "resolved", "closed"}),
    "done": frozenset({"resolved", "closed"}),
    "blocked": frozenset({"blocked"}),
}
"""The statuses that fit the comments of each group of the pool."""

_SET_TO = re.compile(
    r"(?:\b(?:I|we|was|been|is)(?: have| had| just)* |(?:^|[.!] )(?=\w+ to))"
    r"(?:set|moved|put|changed)(?: (?:it|this|the ticket))?(?: back)? (?:to|on) "
    r"`?(open|in[ _]progress|blocked|in[ _]review|resolved|closed|cancelled|hold)\b",
    re.IGNORECASE,
)
_SLOT = re.compile(r"\\\{\w+\\\}")


def chain(facts: Facts) -> Found:
    """Yield histories that are not chains of allowed transitions up to the current status."""
    for key, ticket in facts.tickets.items():
        before: str | None = None
        moment = ""
        for row in facts.transitions.get(key, ()):
            if row["from_status"] != before:
                yield key, f"A transition starts from {row['from_status']}, but the ticket was {before}."
            if row["to_status"] not in _ALLOWED[row["from_status"]]:
                yield key, f"The transition from {row['from_status']} to {row['to_status']} is not allowed."
            if row["at"] == moment:
                yield key, f"Two transitions are of {moment}."
            before, moment = row["to_status"], row["at"]
        if before != ticket["status"]:
            yield key, f"Its status is {ticket['status']}, but its history ends with {before}."


def mentioned_status(facts: Facts) -> Found:
    """Yield comments that mention a status which the ticket did not have."""
    for row in facts.ticketdesk["comments"]:
        key, at = row["ticket_key"], row["created_at"]
        group = _group(row["body"])
        statuses = _STATUSES_OF_GROUP.get(group or "")
        if statuses is not None and facts.status_at(key, at) not in statuses:
            yield key, f"A comment of {at} fits a ticket that is {group}, but it was {facts.status_at(key, at)}."
        had = {one["to_status"] for one in facts.transitions.get(key, ()) if one["at"] <= at}
        for status in _mentions(row["body"]):
            if status not in had:
                yield key, f"A comment of {at} says that it was set to {status}, which it never was."
    planned = facts.ticketdesk["scheduled_events"]
    transitions = {one["data"]["id"]: one for one in planned if one["kind"] == "transition"}
    for event in planned:
        if event["kind"] == "comment":
            data, due = event["data"], event["due_at"]
            earlier = transitions.get(data.get("after_transition", ""))
            for status in _mentions(data["body"]):
                made = (data["ticket_key"], data["author_id"], status)
                if earlier is None or earlier["due_at"] > due or made != _made(earlier["data"]):
                    yield data["ticket_key"], f"A planned comment says that it was set to {status}, but nobody does so."


def _made(transition: Mapping[str, Any]) -> tuple[str, str, str]:
    return transition["ticket_key"], transition["by"], transition["to_status"]


def _mentions(body: str) -> Iterator[str]:
    for status in _SET_TO.findall(body):
        yield {"hold": "blocked"}.get(status.lower(), status.lower().replace(" ", "_"))


def _group(body: str) -> str | None:
    return next((group for group, pattern in _patterns() if pattern.fullmatch(body)), None)


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    comments: dict[str, dict[str, list[str]]] = pool("tickets")["comments"]
    return [
        (group, re.compile("|".join(_SLOT.sub(".+", re.escape(text)) for text in texts)))
        for groups in comments.values()
        for group, texts in groups.items()
    ]
