"""Events are in causal order: effects follow their causes, and only planned events are after the start."""

from __future__ import annotations

import re
from itertools import pairwise

from verification.plausibility.facts import ENDED, Facts, Found, Row

_SUBJECT_DATES = ("incurred_on", "received_on", "called_on", "signed_on", "published_on", "issued_on")
"""Date fields of records whose dates are in the past."""

_RECORD_ID = re.compile(r"\b[A-Z]{2,3}-[0-9]+\b")
_QUARTER = re.compile(r"\b(?:Q|quarter )?([1-4])[ /](20\d\d)\b")
_QUARTER_ENDS = ("03-31", "06-30", "09-30", "12-31")


def causal_order(facts: Facts) -> Found:
    """Yield rows whose times contradict each other or are after the start."""
    yield from _tickets(facts)
    yield from _named_records(facts)
    yield from _requests(facts)
    yield from _records(facts)
    yield from _datahub(facts)
    yield from _planned(facts)


def periods(facts: Facts) -> Found:
    """Yield periods that end before they start."""
    named = [
        *((row["id"], row["employed_from"], row["employed_to"]) for row in facts.people.values()),
        *((row["id"], row["first_day"], row["last_day"]) for row in facts.company["absences"]),
        *((one["id"], held["first_day"], held["last_day"]) for one in facts.people.values() for held in one["roles"]),
        *((row["id"], row["starts_on"], row["ends_on"]) for row in facts.records.values()),
        *((row["id"], row["issued_on"], row["expires_on"]) for row in facts.datahub["certificates"]),
        *((row["id"], row["effective_from"], row["effective_to"]) for row in facts.datahub["policies"]),
        *((row["id"], row["maintenance_from"], row["maintenance_to"]) for row in facts.datahub["sources"]),
        *((row["id"], row["starts_at"], row["ends_at"]) for row in facts.approvalflow["delegations"]),
        *((row["id"], row["starts_at"], row["revoked_at"]) for row in facts.approvalflow["delegations"]),
    ]
    for entity, first, last in named:
        if first is not None and last is not None and last < first:
            yield entity, f"The period ends on {last}, before it starts on {first}."


def due_dates(facts: Facts) -> Found:
    """Yield due dates that are not working days, or not after the creation."""
    for row in facts.tickets.values():
        if row["due_at"] is None:
            continue
        if not facts.is_working_day(row["due_at"][:10]):
            yield row["key"], f"It is due on {row['due_at'][:10]}, which is not a working day."
        if row["due_at"] <= row["created_at"]:
            yield row["key"], f"It is due at {row['due_at']}, before it was created at {row['created_at']}."


def working_time(facts: Facts) -> Found:
    """Yield actions on days that are not working days, or before 7:00 or after 19:59."""
    for act in facts.acts:
        if not "07" <= act.at[11:13] <= "19" or not facts.is_working_day(act.at[:10]):
            yield act.entity, f"{act.person_id} {act.what} at {act.at}, outside working time."


def _tickets(facts: Facts) -> Found:
    last: dict[str, str] = {}
    attached = [
        *(("transition", row["ticket_key"], row["at"]) for row in facts.ticketdesk["transitions"]),
        *(("checklist item", row["ticket_key"], row["done_at"]) for row in facts.ticketdesk["checklist_items"]),
        *(("comment", row["ticket_key"], row["created_at"]) for row in facts.ticketdesk["comments"]),
        *(("link", row["from_key"], row["created_at"]) for row in facts.ticketdesk["links"]),
        *(("link", row["to_key"], row["created_at"]) for row in facts.ticketdesk["links"]),
        *(("verification", row["key"], row["verified_at"]) for row in facts.tickets.values()),
    ]
    for what, key, at in attached:
        if at is None:
            continue
        if at < facts.tickets[key]["created_at"]:
            yield key, f"A {what} of {at} is older than the ticket, created at {facts.tickets[key]['created_at']}."
        if at > facts.started_at:
            yield key, f"A {what} of {at} is after the start at {facts.started_at}."
        if what == "transition":
            last[key] = max(last.get(key, ""), at)
    for row in facts.tickets.values():
        if not row["created_at"] <= row["updated_at"] <= facts.started_at:
            yield (
                row["key"],
                f"created_at {row['created_at']} <= updated_at {row['updated_at']} <= start does not hold.",
            )
        if last.get(row["key"], "") > row["updated_at"]:
            yield row["key"], f"updated_at {row['updated_at']} is before its last transition."


def _named_records(facts: Facts) -> Found:
    for row in facts.tickets.values():
        for record_id in _RECORD_ID.findall(f"{row['title']} {row['description']}"):
            record = facts.records.get(record_id)
            if record is not None and record["created_at"] > row["created_at"]:
                yield row["key"], f"It names {record_id}, which was filed later at {record['created_at']}."


def _requests(facts: Facts) -> Found:
    for row in facts.requests.values():
        times = [row["submitted_at"], row["decided_at"] or row["submitted_at"], facts.started_at]
        if times != sorted(times):
            yield row["id"], f"submitted_at {times[0]} <= decided_at {times[1]} <= start does not hold."
        if (row["decided_at"] is None) == (row["status"] in ("approved", "rejected")):
            yield row["id"], f"decided_at {row['decided_at']} does not fit the status {row['status']}."
        subject = facts.records.get(row["subject"])
        if subject is not None and subject["created_at"] > row["submitted_at"]:
            yield (
                row["id"],
                f"It was submitted before its subject {subject['id']} was filed at {subject['created_at']}.",
            )
        ticket = facts.tickets.get(row["ticket_ref"] or "")
        if ticket is not None and ticket["created_at"] > row["submitted_at"]:
            yield row["id"], f"It refers to {ticket['key']}, which was created later at {ticket['created_at']}."
    for kind in ("decisions", "notes"):
        for row in facts.approvalflow[kind]:
            submitted_at = facts.requests[row["request_id"]]["submitted_at"]
            if not submitted_at <= row["at"] <= facts.started_at:
                yield row["id"], f"It is of {row['at']}, not between submission at {submitted_at} and the start."


def _records(facts: Facts) -> Found:
    for row in facts.records.values():
        if not row["created_at"] <= row["updated_at"] <= facts.started_at:
            yield row["id"], f"created_at {row['created_at']} <= updated_at {row['updated_at']} <= start does not hold."
        for name in _SUBJECT_DATES:
            day = row["fields"].get(name)
            if day and day > row["updated_at"][:10]:
                yield row["id"], f"It was last changed at {row['updated_at']}, but {name} is {day}."
        published_on = row["fields"].get("published_on") or "9999"
        if row["state"] == "published" and published_on < row["created_at"][:10]:
            yield row["id"], f"It was published on {published_on}, before it was filed at {row['created_at']}."
        order = facts.records.get(str(row["fields"].get("purchase_order_id")))
        if "purchase_order_id" in row["fields"] and order is None:
            yield row["id"], "It names no purchase order that exists."
        if order is not None and row["created_at"] < order["created_at"]:
            yield row["id"], f"It was filed at {row['created_at']}, before its order at {order['created_at']}."
        if order is not None and row["fields"].get("received_on", "9999") < order["created_at"][:10]:
            yield row["id"], f"Goods were received on {row['fields']['received_on']}, before the order was placed."
        if row["kind"] == "invoice" and row["fields"].get("due_on", "9999") < row["created_at"][:10]:
            yield row["id"], f"It is due on {row['fields']['due_on']}, before it was filed at {row['created_at']}."
        yield from _referenced(facts, row)


def _referenced(facts: Facts, row: Row) -> Found:
    """Yield documents older than the record to which they refer, and states that contradict the record's period."""
    for name in ("expense_id", "invoice_id", "request_id"):
        subject = facts.records.get(str(row["fields"].get(name)))
        if subject is None:
            continue
        if row["created_at"] < subject["created_at"] and name != "expense_id":
            yield row["id"], f"It was filed at {row['created_at']}, before {subject['id']} at {subject['created_at']}."
        called_on = row["fields"].get("called_on") or "9999"
        if called_on < subject["fields"].get("received_on", ""):
            yield row["id"], f"The call was on {called_on}, before {subject['id']} was received."
    ends_on, starts_on = row["ends_on"], row["starts_on"]
    if row["state"] == "expired" and ends_on is not None and ends_on >= facts.today:
        yield row["id"], f"It has expired, but runs until {ends_on}."
    if row["kind"] == "contract" and row["state"] == "active":
        if ends_on is not None and ends_on < facts.today:
            yield row["id"], f"It is active, but ended on {ends_on}."
        if starts_on is not None and starts_on > facts.today:
            yield row["id"], f"It is active, but starts on {starts_on}."
    signed_on = row["fields"].get("signed_on")
    if signed_on and starts_on and signed_on > starts_on:
        yield row["id"], f"It was signed on {signed_on}, after it started on {starts_on}."


_PAST = (
    ("metrics", "id", "as_of"),
    ("refresh_jobs", "id", "requested_at"),
    ("refresh_jobs", "id", "finished_at"),
    ("bank_changes", "id", "changed_at"),
    ("data_issues", "id", "reported_at"),
    ("certificates", "id", "issued_on"),
)
"""Tables of DataHub with the column whose times must be before the start."""


def _datahub(facts: Facts) -> Found:
    for table, key, name in _PAST:
        for row in facts.datahub[table]:
            if (row[name] or "") > facts.started_at:
                yield row[key], f"{name} is {row[name]}, after the start."
    as_of = {row["id"]: row["as_of"] for row in facts.datahub["metrics"]}
    for row in facts.datahub["metric_values"]:
        if row["as_of"] >= as_of[row["metric_id"]]:
            yield row["metric_id"], f"An earlier value is of {row['as_of']}, not before the current one."
    for row in facts.datahub["refresh_jobs"]:
        if row["finished_at"] is not None and row["finished_at"] < row["requested_at"]:
            yield row["id"], f"It was requested at {row['requested_at']} and finished at {row['finished_at']}."
    rows = sorted(facts.datahub["policies"], key=lambda one: (one["policy_id"], one["version"]))
    for one, other in pairwise(rows):
        is_same = one["policy_id"] == other["policy_id"]
        if is_same and (one["effective_to"] or "9999") >= other["effective_from"]:
            yield one["policy_id"], f"Versions {one['version']} and {other['version']} are in force at the same time."


def _planned(facts: Facts) -> Found:
    for document in facts.documents.values():
        for event in document.get("scheduled_events", ()):
            if event["due_at"] <= facts.started_at:
                yield event["kind"], f"An event is planned for {event['due_at']}, not after the start."


def quarters(facts: Facts) -> Found:
    """Yield tickets that request the close of a quarter before it has ended."""
    for row in facts.tickets.values():
        text = f"{row['title']} {row['description']}"
        for quarter, year in _QUARTER.findall(text):
            end = _QUARTER_ENDS[int(quarter) - 1]
            if f"{year}-{end}" >= row["created_at"][:10] and "lose" in text:
                yield row["key"], f"It asks for the close of quarter {quarter}/{year} before the quarter has ended."


def ended_tickets(facts: Facts) -> Found:
    """Yield tickets that are done or verified without an assignee, or closed or cancelled without a reason."""
    for row in facts.tickets.values():
        if row["status"] in ("resolved", "closed") and row["assignee_id"] is None:
            yield row["key"], f"It is {row['status']}, but was never assigned."
        if row["status"] in ("closed", "cancelled") and row["reason_code"] is None:
            yield row["key"], f"It is {row['status']} without a reason."
        if row["status"] not in ENDED and row["verified_at"] is not None and row["assignee_id"] is None:
            yield row["key"], "It is verified without an assignee."
