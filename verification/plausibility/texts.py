"""Texts have no open slots or misplaced spaces and name known people; rows back checklist items."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from companyos_gateway.world.pools import pool
from verification.plausibility.facts import Facts, Found

_SLOT = re.compile(r"\{[^{}\n]*\}")
_DOUBLED = re.compile(r"\S {2,}\S|\s,|\(\s| \.(?!\w)")
_SENTENCE = re.compile(r"(?:^|(?<=[.!?])[ \n]+|\n+)(?:[-*] |\(\d+\) |\d+\. )?([a-z][\w-]*)")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|approx|incl|excl|vs|no|nos|p\.m|a\.m)\. ?$", re.IGNORECASE)


def texts(facts: Facts) -> Found:
    """Yield texts with open slots, misplaced spaces, sentences in lower case, or names of unknown people."""
    yield from _own_names(facts)
    known = {row["name"] for row in facts.people.values()} | {row["contact_name"] for row in facts.vendors.values()}
    names = re.compile("|".join(re.escape(form) for form in sorted(_forms(), key=len, reverse=True)))
    for entity, text, is_prose in _texts(facts):
        for slot in _SLOT.findall(text):
            yield entity, f"The slot {slot} is open in: {text[:90]}"
        if _DOUBLED.search(text):
            yield entity, f"Spaces are doubled or misplaced in: {text[:90]}"
        prose = names.sub("Ltd", text) if is_prose else text.partition(". ")[0]
        for match in _SENTENCE.finditer(prose):
            word, before = match.group(1), prose[: match.start(1)]
            if word not in _lower_names() and not _ABBREVIATION.search(before):
                yield entity, f"A sentence starts with {word!r} in: {text[:90]}"
        for name in _person_names().findall(text):
            if name not in known:
                yield entity, f"Nobody is called {name}, in: {text[:90]}"


def checklists(facts: Facts) -> Found:
    """Yield open items of the entry ticket that no row backs, so that an agent cannot verify them."""
    for row in facts.ticketdesk["checklist_items"]:
        is_open = row["ticket_key"] == facts.ticket_key and row["done_at"] is None
        if is_open and row["id"] not in facts.backed_items:
            yield row["ticket_key"], f"Nothing backs the checklist item: {row['text']}"


_TITLE, _PROSE = False, True
_TEXTS = (
    ("ticketdesk", "tickets", "key", "title", _TITLE),
    ("ticketdesk", "tickets", "key", "description", _PROSE),
    ("ticketdesk", "comments", "ticket_key", "body", _PROSE),
    ("ticketdesk", "checklist_items", "ticket_key", "text", _TITLE),
    ("datahub", "records", "id", "title", _TITLE),
    ("datahub", "vendors", "id", "name", _TITLE),
    ("datahub", "vendors", "id", "notes", _PROSE),
    ("datahub", "sources", "id", "name", _TITLE),
    ("datahub", "metrics", "id", "title", _TITLE),
    ("datahub", "policies", "id", "title", _TITLE),
    ("datahub", "policies", "id", "body", _PROSE),
    ("datahub", "data_issues", "id", "description", _PROSE),
    ("datahub", "refresh_plans", "id", "error", _PROSE),
    ("approvalflow", "approval_types", "key", "title", _TITLE),
    ("approvalflow", "approval_types", "key", "description", _PROSE),
    ("approvalflow", "requests", "id", "justification", _PROSE),
    ("approvalflow", "decisions", "id", "reason", _PROSE),
    ("approvalflow", "notes", "id", "body", _PROSE),
    ("approvalflow", "reactions", "id", "reason", _PROSE),
)
"""Service, table, entity column, text column, and whether the text consists of sentences."""


def _texts(facts: Facts) -> Iterator[tuple[str, str, bool]]:
    """Yield each text with its entity, and whether it consists of sentences."""
    yield "brief", facts.brief, _PROSE
    for service, table, key, name, is_prose in _TEXTS:
        for row in facts.documents[service][table]:
            if row[name]:
                yield row[key], row[name], is_prose
    for event in facts.ticketdesk["scheduled_events"]:
        for name in event["data"].keys() & {"title", "description", "body"}:
            yield f"planned {event['kind']}", event["data"][name], name != "title"
    for row in facts.approval_types.values():
        for spec in row["fields"]:
            yield row["key"], spec["description"], _PROSE


def _own_names(facts: Facts) -> Iterator[tuple[str, str]]:
    """Yield tickets and comments in which authors mention themselves by name."""
    written = [(row["key"], row["reporter_id"], row["description"]) for row in facts.tickets.values()]
    written += [(row["ticket_key"], row["author_id"], row["body"]) for row in facts.ticketdesk["comments"]]
    for key, author_id, text in written:
        if author_id in facts.people and facts.people[author_id]["name"] in text:
            yield key, f"{author_id} writes their own name in: {text[:90]}"


@cache
def _person_names() -> re.Pattern[str]:
    words = pool("people")
    given, family = set(words["given"]), set(words["family"])
    for own in pool("held_out").values():
        given |= set(own.get("given", ()))
        family |= set(own.get("family", ()))
    return re.compile(rf"\b(?:{'|'.join(sorted(given))}) (?:{'|'.join(sorted(family))})\b")


@cache
def _forms() -> frozenset[str]:
    return frozenset(form for entry in pool("vendors")["country"] for form in entry["forms"])


@cache
def _lower_names() -> frozenset[str]:
    """Return the service names, which are written in lower case."""
    return frozenset(pool("data")["slots"]["service"])
