"""The plausibility linter: real instances have no findings, and each planted violation is found by its rule."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import pytest

from companyos_gateway.chaos import levels
from companyos_gateway.scenarios import catalogue
from companyos_gateway.scenarios.api import Instance
from verification.plausibility import RULES, Facts, find_implausible

Documents = dict[str, dict[str, Any]]
Row = dict[str, Any]
Plant = Callable[[Documents], str]
"""Makes an instance implausible and returns the entity that the finding must name."""
ENTITY_COLUMNS = {"tickets": "key", "comments": "ticket_key", "policies": "policy_id"}


@cache
def _instance() -> Instance:
    return catalogue()["purchase_order"].plan(1, 0)


def _later(moment: str, **delta: int) -> str:
    return f"{(datetime.fromisoformat(moment) + timedelta(**delta)).isoformat()[:19]}Z"


def _tables(documents: Documents) -> dict[str, list[Row]]:
    return {name: rows for document in documents.values() for name, rows in document.items() if isinstance(rows, list)}


def _first(documents: Documents, table: str, *, of: Callable[[Row], Any] = bool) -> Row:
    return next(row for row in _tables(documents)[table] if of(row))


def _is(kind: str, *, having: str = "quantity") -> Callable[[Row], bool]:
    return lambda row: row["kind"] == kind and having in row["fields"]


def _record(documents: Documents, kind: str, *, having: str = "quantity") -> Row:
    return _first(documents, "records", of=_is(kind, having=having))


def _change(name: str, table: str, *, of: Callable[[Row], Any] = bool, **columns: Any) -> Plant:
    """Return a function that changes columns of the first such row; a value may be a function of the row."""

    def plant(documents: Documents) -> str:
        row = _first(documents, table, of=of)
        row.update({column: value(row) if callable(value) else value for column, value in columns.items()})
        return str(row[ENTITY_COLUMNS.get(table, "id")])

    plant.__name__ = name
    return plant


def _company(documents: Documents) -> Row:
    company: Row = documents["ticketdesk"]["company"]
    return company


def _resolved(documents: Documents) -> Row:
    """Return a resolved ticket with a comment."""
    commented = {row["ticket_key"] for row in documents["ticketdesk"]["comments"]}
    return _first(documents, "tickets", of=lambda row: row["status"] == "resolved" and row["key"] in commented)


def _comment_of(documents: Documents, ticket: Row) -> Row:
    return _first(documents, "comments", of=lambda row: row["ticket_key"] == ticket["key"])


def _transition_of(documents: Documents, ticket: Row, to_status: str) -> Row:
    return _first(
        documents,
        "transitions",
        of=lambda row: (row["ticket_key"], row["to_status"]) == (ticket["key"], to_status),
    )


def _comment_before_its_ticket(documents: Documents) -> str:
    comment = _first(documents, "comments")
    ticket = _first(documents, "tickets", of=lambda row: row["key"] == comment["ticket_key"])
    comment["created_at"] = _later(ticket["created_at"], days=-1)
    return str(ticket["key"])


def _ticket_before_the_record_that_it_names(documents: Documents) -> str:
    record = _record(documents, "invoice", having="invoice_number")
    ticket = _resolved(documents)
    ticket["description"] = f"Please process {record['id']}."
    record["created_at"] = record["updated_at"] = _later(ticket["created_at"], hours=1)
    return str(ticket["key"])


def _own_name(documents: Documents) -> str:
    comment = _first(documents, "comments")
    people = {row["id"]: row["name"] for row in _company(documents)["people"]}
    comment["body"] = f"I have asked {people[comment['author_id']]}."
    return str(comment["ticket_key"])


def _transition_after_the_start(documents: Documents) -> str:
    ticket = _resolved(documents)
    _transition_of(documents, ticket, "resolved")["at"] = _later(documents["ticketdesk"]["started_at"], hours=1)
    return str(ticket["key"])


def _request_before_its_subject(documents: Documents) -> str:
    records = {row["id"]: row for row in documents["datahub"]["records"]}
    request = _first(documents, "requests", of=lambda row: row["subject"] in records)
    subject = records[request["subject"]]
    subject["created_at"] = subject["updated_at"] = _later(request["submitted_at"], minutes=1)
    return str(request["id"])


def _planned_before_the_start(documents: Documents) -> str:
    event = _planned_comment(documents)
    event["due_at"] = _later(documents["ticketdesk"]["started_at"], hours=-1)
    return "comment"


def _comment_by_a_former_employee(documents: Documents) -> str:
    comment = _first(documents, "comments")
    person = next(row for row in _company(documents)["people"] if row["id"] == comment["author_id"])
    person["employed_to"] = comment["created_at"][:8] + "01" if comment["created_at"][8:10] != "01" else "2020-01-02"
    return str(comment["ticket_key"])


def _grant_before_the_hiring(documents: Documents) -> str:
    grant = _first(documents, "records", of=lambda row: row["kind"] == "access_grant")
    person = _company(documents)["people"][0]
    grant["fields"] = {**grant["fields"], "person_id": person["id"]}
    grant["created_at"] = f"{int(person['employed_from'][:4]) - 1}-03-02T10:00:00Z"
    return str(grant["id"])


def _decision_on_leave(documents: Documents) -> str:
    decision = _first(documents, "decisions")
    day = decision["at"][:10]
    absence = {"id": "ABS-1", "person_id": decision["by"], "first_day": day, "last_day": day, "kind": "sick"}
    _company(documents)["absences"].append(absence)
    return str(decision["request_id"])


def _assignee_who_left_years_ago(documents: Documents) -> str:
    ticket = _first(documents, "tickets", of=lambda row: row["status"] == "open" and row["assignee_id"])
    person = next(row for row in _company(documents)["people"] if row["id"] == ticket["assignee_id"])
    person["employed_from"], person["employed_to"] = "2010-01-01", "2020-01-02"
    return str(ticket["key"])


def _approver_without_the_role(documents: Documents) -> str:
    decision = _first(documents, "decisions")
    decision["by"] = next(row["id"] for row in _company(documents)["people"] if not row["roles"])
    return str(decision["request_id"])


def _delegation_without_authority(documents: Documents) -> str:
    delegation = _first(documents, "delegations")
    delegation["from_id"] = next(row["id"] for row in _company(documents)["people"] if not row["roles"])
    return str(delegation["id"])


def _transition_that_is_not_allowed(documents: Documents) -> str:
    ticket = _resolved(documents)
    _transition_of(documents, ticket, "in_progress")["to_status"] = "closed"
    return str(ticket["key"])


def _comment_about_a_status_that_never_was(documents: Documents) -> str:
    ticket = _resolved(documents)
    _comment_of(documents, ticket)["body"] = "I have set this to blocked until Monday."
    return str(ticket["key"])


def _comment_that_fits_another_status(documents: Documents) -> str:
    ticket = _resolved(documents)
    comment = _comment_of(documents, ticket)
    comment["body"] = "This is done."
    comment["created_at"] = ticket["created_at"]
    return str(ticket["key"])


def _license_from_a_caterer(documents: Documents) -> str:
    record = _first(documents, "records", of=lambda row: row["kind"] == "license")
    vendor = next(row for row in documents["datahub"]["vendors"] if row["id"] == record["vendor_id"])
    vendor["name"], vendor["category"] = "Heron Kitchens", "catering"
    return str(record["id"])


def _receipt_of_another_vendor(documents: Documents) -> str:
    receipt = _record(documents, "goods_receipt")
    receipt["vendor_id"] = next(
        row["id"] for row in documents["datahub"]["vendors"] if row["id"] != receipt["vendor_id"]
    )
    return str(receipt["id"])


def _spend_that_fell(documents: Documents) -> str:
    metric = _first(documents, "metrics", of=lambda row: row["key"] == "spend_to_date")
    earlier = _first(documents, "metric_values", of=lambda row: row["metric_id"] == metric["id"])
    earlier["value"], earlier["as_of"] = metric["value"] + 1, _later(metric["as_of"], minutes=-1)
    return str(metric["id"])


def _unknown_person(documents: Documents) -> str:
    names = {row["name"] for row in _company(documents)["people"]}
    name = next(name for name in ("Adaeze Abara", "Zofia Zulu", "Lars Keller") if name not in names)
    comment = _first(documents, "comments")
    comment["body"] = f"{name} has confirmed."
    return str(comment["ticket_key"])


def _item_that_nothing_backs(documents: Documents) -> str:
    items = documents["ticketdesk"]["checklist_items"]
    item = _first(documents, "checklist_items", of=lambda row: row["ticket_key"] in _instance().brief)
    items.append({**item, "id": "item-9999", "text": "Works council informed", "done_at": None, "done_by": None})
    return str(item["ticket_key"])


def _planned_comment(documents: Documents) -> Row:
    """Plan a comment and return the event."""
    ticket = _first(documents, "tickets")
    author = next(
        row["id"]
        for row in _company(documents)["people"]
        if row["employed_to"] is None and row["id"] != _company(documents)["agent_id"]
    )
    absences = _company(documents)["absences"]
    absences[:] = [row for row in absences if row["person_id"] != author]
    start = documents["ticketdesk"]["started_at"]
    data = {"id": "comment-9999", "ticket_key": ticket["key"], "author_id": author, "body": "Done."}
    event = {"due_at": _later(start, minutes=90), "kind": "comment", "data": data, "once_verified": None}
    documents["ticketdesk"]["scheduled_events"].append(event)
    return event


def _planned_at_night(documents: Documents) -> str:
    event = _planned_comment(documents)
    event["due_at"] = f"{event['due_at'][:10]}T23:00:00Z"
    return "comment"


def _planned_on_leave(documents: Documents) -> str:
    event = _planned_comment(documents)
    day = event["due_at"][:10]
    away = {"id": "ABS-1", "person_id": event["data"]["author_id"], "first_day": day, "last_day": day, "kind": "sick"}
    _company(documents)["absences"].append(away)
    return "comment"


def _planned_by_the_agent(documents: Documents) -> str:
    _planned_comment(documents)["data"]["author_id"] = _company(documents)["agent_id"]
    return "comment"


UNKNOWN_ASSIGNEE = _change("unknown assignee", "tickets", of=lambda row: row["status"] == "open", assignee_id="E-0")
CALL_BEFORE_THE_LETTER = _change(
    "call before the letter",
    "records",
    of=lambda row: row["fields"].get("document_type") == "call_note",
    fields=lambda row: row["fields"] | {"called_on": "2020-01-02"},
)
VIOLATIONS: dict[str, tuple[Plant, ...]] = {
    "causal order": (
        _comment_before_its_ticket,
        _ticket_before_the_record_that_it_names,
        _transition_after_the_start,
        _change("decision before submission", "decisions", at=lambda row: _later(row["at"], days=-80)),
        _request_before_its_subject,
        _change(
            "receipt before its order",
            "records",
            of=_is("goods_receipt"),
            fields=lambda row: row["fields"] | {"received_on": "2020-01-02"},
        ),
        _change(
            "invoice before its order",
            "records",
            of=_is("invoice"),
            created_at=lambda row: _later(row["created_at"], days=-900),
        ),
        _change(
            "expired record that runs",
            "records",
            of=lambda row: (row["kind"], row["state"]) == ("contract", "active"),
            state="expired",
        ),
        _change("two versions in force", "policies", of=lambda row: row["effective_to"] is not None, effective_to=None),
        _planned_before_the_start,
    ),
    "periods": (_change("period that ends before it starts", "certificates", expires_on="2020-01-02"),),
    "due dates": (
        _change("due on a sunday", "tickets", of=lambda row: row["due_at"] is not None, due_at="2029-07-01T17:00:00Z"),
        _change(
            "due before its creation",
            "tickets",
            of=lambda row: row["due_at"] is not None,
            due_at=lambda row: _later(row["created_at"], days=-7),
        ),
    ),
    "working time": (
        _change("comment at night", "comments", created_at=lambda row: f"{row['created_at'][:10]}T23:30:00Z"),
    ),
    "quarters": (
        _change(
            "close of a running quarter",
            "tickets",
            title=lambda row: f"Close of {(int(row['created_at'][5:7]) + 2) // 3}/{row['created_at'][:4]} for CC-500",
        ),
    ),
    "ended tickets": (
        _change("resolved without assignee", "tickets", of=lambda row: row["status"] == "resolved", assignee_id=None),
    ),
    "employment": (_comment_by_a_former_employee, _grant_before_the_hiring),
    "absences": (_decision_on_leave,),
    "assignees": (_assignee_who_left_years_ago, UNKNOWN_ASSIGNEE),
    "approvers": (
        _approver_without_the_role,
        _change(
            "decision about an own request",
            "requests",
            of=lambda row: row["decided_at"] is not None,
            requester_id=lambda row: row["approver_id"],
        ),
    ),
    "delegations": (_delegation_without_authority,),
    "unknown people": (_change("record of an unknown owner", "records", owner_id="E-0"),),
    "history": (
        _transition_that_is_not_allowed,
        _change(
            "history that ends elsewhere", "tickets", of=lambda row: row["status"] == "resolved", status="in_review"
        ),
    ),
    "mentioned status": (_comment_about_a_status_that_never_was, _comment_that_fits_another_status),
    "vendor identity": (
        _change(
            "legal form of another country",
            "vendors",
            of=lambda row: row["country"] != "DE",
            legal_name=lambda row: f"{row['name']} GmbH",
        ),
        _change(
            "account in another country",
            "vendors",
            of=lambda row: row["country"] != "SE",
            bank_iban=lambda row: f"SE{row['bank_iban'][2:]}",
        ),
        _change(
            "account with wrong check digits",
            "vendors",
            bank_iban=lambda row: f"{row['bank_iban'][:-1]}{(int(row['bank_iban'][-1]) + 1) % 10}",
        ),
        _change(
            "mail domain of another vendor",
            "vendors",
            contact_email=lambda row: f"{row['contact_email'].partition('@')[0]}@elsewhere.example",
        ),
    ),
    "vendor categories": (_license_from_a_caterer,),
    "amounts": (
        _change(
            "total that does not agree",
            "records",
            of=_is("purchase_order", having="unit_price_cents"),
            amount_cents=lambda row: row["amount_cents"] + 1,
        ),
        _receipt_of_another_vendor,
    ),
    "cumulative metrics": (
        _spend_that_fell,
        _change("more than the whole", "metrics", of=lambda row: row["unit"] == "percent", value=104.0),
    ),
    "texts": (
        _change("open slot", "tickets", description="Please ask {person} about it."),
        _change("doubled space", "tickets", description="Please  ask."),
        _change("sentence in lower case", "comments", body="Asked the vendor. they will answer."),
        _unknown_person,
        _own_name,
    ),
    "checklists": (_item_that_nothing_backs,),
    "scheduled events": (_planned_at_night, _planned_on_leave, _planned_by_the_agent),
}
PAIRS = [(rule, plant) for rule, plants in VIOLATIONS.items() for plant in plants]


@pytest.mark.parametrize(("rule", "plant"), PAIRS, ids=lambda value: str(getattr(value, "__name__", value)))
def test_a_planted_violation_is_detected(rule: str, plant: Plant) -> None:
    documents: Documents = deepcopy(dict(_instance().documents))
    facts = replace(Facts.of(_instance()), documents=documents)
    assert list(RULES[rule](facts)) == []
    entity = plant(documents)
    assert entity in {found for found, _ in RULES[rule](replace(facts))}


def test_a_call_before_the_letter_that_it_confirms_is_detected() -> None:
    scenario = catalogue()["vendor_bank_change"]
    instances = (scenario.plan(seed, 0) for seed in range(20))
    noted = (one for one in instances if "'called_on': '20" in str(one.documents["datahub"]["records"]))
    documents: Documents = deepcopy(dict(next(noted).documents))
    assert list(RULES["causal order"](Facts(documents))) == []
    assert CALL_BEFORE_THE_LETTER(documents) in {entity for entity, _ in RULES["causal order"](Facts(documents))}


def test_every_rule_has_a_planted_violation() -> None:
    assert set(VIOLATIONS) == set(RULES)


def test_a_departed_assignee_is_plausible_under_that_kind_of_chaos() -> None:
    documents: Documents = deepcopy(dict(_instance().documents))
    entity = UNKNOWN_ASSIGNEE(documents)
    found = RULES["assignees"](Facts(documents, kinds=frozenset({"unknown_assignee"})))
    assert entity not in {one for one, _ in found}


@pytest.mark.sample(8)
@pytest.mark.parametrize("level", levels())
@pytest.mark.parametrize("scenario", sorted(catalogue()))
def test_every_scenario_is_plausible(scenario: str, level: int) -> None:
    found = [str(one) for seed in (1, 2) for one in find_implausible(catalogue()[scenario].plan(seed, level))]
    assert found == []


@pytest.mark.parametrize(
    ("scenario", "seed", "level"),
    [
        pytest.param("employee_offboarding", 99, 3, id="a leaver and a namesake have not written of the other"),
        pytest.param("incident_response", 24, 3, id="the owner of a change is at work when it is to be resolved"),
        pytest.param("security_exception", 16, 0, id="an exception is filed before the ticket about it"),
        pytest.param("vendor_bank_change", 44, 3, id="a letter is filed before all tickets of the team that name it"),
        pytest.param("vendor_bank_change", 21, 4, id="a letter is filed before a blocker of another team"),
    ],
)
def test_a_previously_implausible_instance_is_plausible(scenario: str, seed: int, level: int) -> None:
    assert list(find_implausible(catalogue()[scenario].plan(seed, level))) == []


def test_the_rows_of_an_added_service_are_accepted() -> None:
    instance = _instance()
    company = {name: instance.documents["datahub"][name] for name in ("company", "draw_seed", "started_at")}
    added = {"parking": {**company, "permits": [{"id": "PRM-1"}]}}
    assert not list(find_implausible(replace(instance, documents={**instance.documents, **added})))
