"""Scheduled events of colleagues are in office hours, and their actors are at work."""

from __future__ import annotations

from typing import Any

from verification.plausibility.facts import Facts, Found

_ACTORS = {"comment": "author_id", "transition": "by", "ticket": "reporter_id"}


def scheduled_events(facts: Facts) -> Found:
    """Yield planned events outside office hours, of people who are away then, or of the agent."""
    for event in facts.ticketdesk["scheduled_events"]:
        yield from _event(facts, event, event["data"].get(_ACTORS.get(event["kind"], "")))
    for event in facts.datahub["scheduled_events"]:
        record = facts.records.get(event["data"].get("record_id", ""))
        if record is not None:
            yield from _event(facts, event, record["owner_id"])
    for event in facts.approvalflow["scheduled_events"]:
        data = event["data"]
        yield from _event(facts, event, data.get("requester_id") or data.get("author_id") or data.get("created_by"))


def _event(facts: Facts, event: dict[str, Any], person_id: str | None) -> Found:
    at, kind = event["due_at"], event["kind"]
    day, clock = at[:10], at[11:16]
    opens, closes = facts.company["office_opens"][:5], facts.company["office_closes"][:5]
    if not facts.is_working_day(day) or not opens <= clock <= closes:
        yield kind, f"A {kind} is planned for {at}, outside of office hours."
    if person_id is None:
        return
    if not facts.is_employed(person_id, day):
        yield kind, f"{person_id} is not employed when a {kind} of theirs is planned for {at}."
    elif facts.is_absent(person_id, day):
        yield kind, f"{person_id} is on leave when a {kind} of theirs is planned for {at}."
    if person_id == facts.company["agent_id"]:
        yield kind, f"A {kind} of the agent's own is planned for {at}."
