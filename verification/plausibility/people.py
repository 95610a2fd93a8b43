"""People act, and plan to act, only while they are employed, at work and entitled."""

from __future__ import annotations

from typing import Any

from verification.plausibility.facts import ENDED, Facts, Found, Row

ABSENT_ASSIGNEE_KINDS = frozenset({"departed_assignee", "unknown_assignee"})


def employed(facts: Facts) -> Found:
    """Yield actions of people who do not exist or were not employed, and grants that are older than the employment."""
    for act in facts.acts:
        if not facts.is_employed(act.person_id, act.at[:10]):
            yield act.entity, f"{act.person_id} {act.what} on {act.at[:10]} without being employed."
    for row in facts.requests.values():
        if not facts.is_employed(row["approver_id"], row["submitted_at"][:10]):
            yield row["id"], f"It was submitted to {row['approver_id']}, who was not employed."
    for row in facts.records.values():
        holder = facts.people.get(str(row["fields"].get("person_id"))) if row["kind"] == "access_grant" else None
        if holder is not None and holder["employed_from"] > row["created_at"][:10]:
            yield row["id"], f"It was filed at {row['created_at']}, before {holder['id']} was employed."


def at_work(facts: Facts) -> Found:
    """Yield actions of people who were on leave at that time."""
    for act in facts.acts:
        if facts.is_absent(act.person_id, act.at[:10]):
            yield act.entity, f"{act.person_id} {act.what} on {act.at[:10]} while on leave."


def assignees(facts: Facts) -> Found:
    """Yield tickets whose assignee was not employed when they were created, or has left.

    Assignees may have left or be unknown if the instance has the corresponding chaos kind.
    """
    may_be_gone = bool(facts.kinds & ABSENT_ASSIGNEE_KINDS)
    for row in facts.tickets.values():
        assignee = row["assignee_id"]
        if assignee is None:
            continue
        if assignee not in facts.people:
            if "unknown_assignee" not in facts.kinds:
                yield row["key"], f"It is assigned to {assignee}, whom nobody knows."
        elif not facts.is_employed(assignee, row["created_at"][:10]):
            yield (
                row["key"],
                f"It was created on {row['created_at'][:10]} and assigned to {assignee}, not employed then.",
            )
        elif row["status"] not in ENDED and not facts.is_employed(assignee, facts.today) and not may_be_gone:
            yield row["key"], f"It is assigned to {assignee}, who has left."


def entitled_approvers(facts: Facts) -> Found:
    """Yield requests and decisions whose approver is not entitled, or decides about their own request."""
    for row in facts.requests.values():
        if row["id"] in facts.deliberate:
            continue
        yield from _check(facts, row, row["approver_id"], row["submitted_at"], "is to decide")
    for decision in facts.approvalflow["decisions"]:
        row = facts.requests[decision["request_id"]]
        if row["id"] not in facts.deliberate:
            yield from _check(facts, row, decision["by"], decision["at"], "decided")


def delegations(facts: Facts) -> Found:
    """Yield delegations to oneself, from people without a role, and from or to people who were not employed."""
    for row in facts.approvalflow["delegations"]:
        day = row["starts_at"][:10]
        giver, delegate = row["from_id"], row["to_id"]
        if giver == delegate:
            yield row["id"], f"{giver} delegates to themselves."
        if not any(held["first_day"] <= day <= (held["last_day"] or day) for held in facts.people[giver]["roles"]):
            yield row["id"], f"{giver} delegates on {day} without holding a role."
        for person_id in (giver, delegate):
            if not facts.is_employed(person_id, min(day, facts.today)):
                yield row["id"], f"{person_id} was not employed on {min(day, facts.today)}."


def unknown_people(facts: Facts) -> Found:
    """Yield records that refer to unknown people, and email addresses that do not match the person's name."""
    for person in facts.people.values():
        local, _, domain = person["email"].partition("@")
        if local.rstrip("0123456789") != person["name"].lower().replace(" ", ".") or domain != facts.company["domain"]:
            yield person["id"], f"The address {person['email']} is not of {person['name']}."
    for row in facts.records.values():
        for name in ("person_id", "requester_id", "first", "second"):
            person_id = row["fields"].get(name)
            if person_id is not None and person_id not in facts.people:
                yield row["id"], f"{name} is {person_id}, whom nobody knows."
        if row["owner_id"] is not None and row["owner_id"] not in facts.people:
            yield row["id"], f"It is owned by {row['owner_id']}, whom nobody knows."


def _check(facts: Facts, request: Row, person_id: str, at: str, what: str) -> Found:
    kind = facts.approval_types[request["type_key"]]
    amount = request["fields"].get(kind["amount_field"] or "")
    role = next(
        one["role"]
        for one in kind["thresholds"]
        if one["up_to_cents"] is None or (amount is not None and amount <= one["up_to_cents"])
    )
    roles = {role}
    if kind["second_role"] is not None and amount is not None and amount > kind["second_above_cents"]:
        roles.add(kind["second_role"])
    if not any(_may_decide(facts, request["type_key"], amount, one, person_id, at) for one in roles):
        yield request["id"], f"{person_id} {what} at {at}, but has neither the role {role} nor a delegation of it."
    beneficiaries = {request["fields"].get(one["name"]) for one in kind["fields"] if one["names_beneficiary"]}
    if person_id == request["requester_id"] or person_id in beneficiaries:
        yield request["id"], f"{person_id} {what} about their own request."


def _may_decide(facts: Facts, type_key: str, amount: int | None, role: str, person_id: str, at: str) -> bool:
    if facts.has_role(person_id, role, at[:10]):
        return True
    return any(
        row["to_id"] == person_id
        and facts.has_role(row["from_id"], role, at[:10])
        and row["starts_at"] <= at <= (row["revoked_at"] or row["ends_at"])
        and (not row["type_keys"] or type_key in row["type_keys"])
        and (row["limit_cents"] is None or amount is None or amount <= row["limit_cents"])
        for row in facts.approvalflow["delegations"]
    )


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
