"""Pages of a standalone ApprovalFlow: they show the results of the tools, and each form is a tool call."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from companyos_approvalflow.decisions.model import DecisionKind
from companyos_approvalflow.demo import demo_seed
from companyos_approvalflow.main import SERVICE
from companyos_approvalflow.pages.chain import chain_of
from companyos_approvalflow.requests.model import RequestStatus
from companyos_approvalflow.requests.schemas import Approval, Decision
from companyos_approvalflow.seed import Seed
from companyos_shared.framework import ServiceSettings, create_app
from tests.approvalflow.builders import CFO, CONTROLLER, NOW, a_request

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 7 * 7 }}"
PAGES = (
    "",
    "requests",
    "requests?status=approved&type_key=vendor_onboarding",
    "requests?approver_id=E-104&ticket_ref=OPS-1019",
    "requests/APR-1001",
    "requests/APR-1002",
    "requests/APR-1003",
    "submit",
    "submit/vendor_onboarding",
    "types",
    "types/vendor_onboarding",
    "types/access_request",
    "delegations",
    "delegations?from_id=E-102&to_id=E-104",
)
ONBOARDING = {
    "type_key": "vendor_onboarding",
    "subject": "V-204",
    "approver_id": "E-104",
    "justification": "Replaces the supplier that stops in May.",
    "fields.vendor_id": "V-204",
    "fields.compliance_score:number": "88.5",
    "fields.score_as_of:moment": "2 Mar 2026, 08:40",
    "fields.annual_cost_cents:cents": "12,500.50",
    "fields.has_contract:flag": "No",
}


def _document() -> dict[str, Any]:
    """Return the demo seed document with more requests of the agent than a page shows."""
    document = demo_seed().model_dump(mode="json")
    ended = next(row for row in document["requests"] if row["id"] == "APR-1001")
    more = [{**ended, "id": f"APR-{100 + number}", "subject": f"V-{number}"} for number in range(22)]
    return document | {"requests": document["requests"] + more}


async def _browsing(folder: Path, seed: Seed) -> AsyncIterator[httpx.AsyncClient]:
    service = replace(SERVICE, demo_seed=lambda: seed)
    app = create_app(service, ServiceSettings(service_key=None, service_key_file=None, data_dir=folder))
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://flow", follow_redirects=True
    ) as own:
        yield own
    app.state.episodes.close()


@pytest.fixture
async def browser(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async for own in _browsing(tmp_path, Seed.model_validate(_document())):
        yield own


async def _submit(browser: httpx.AsyncClient, operation: str, page: str, **fields: str) -> httpx.Response:
    return await browser.post(f"/pages/-/{operation}", data={"_form": operation, "_page": page, **fields})


async def test_every_page_renders_without_external_resources(browser: httpx.AsyncClient) -> None:
    for page in PAGES:
        shown = await browser.get(f"/pages/{page}")
        assert shown.status_code == 200, page
        assert "default-src 'none'" in shown.headers["Content-Security-Policy"]
        assert "http" not in shown.text
        assert not re.search(r"<[^>]+ (style|on\w+)=", shown.text), page
        ids = re.findall(r'\sid="([^"]*)"', shown.text)
        assert len(ids) == len(set(ids)), page
        assert set(re.findall(r'(?:for|aria-labelledby|aria-describedby)="([^" ]*)"', shown.text)) <= set(ids), page


async def test_every_tool_that_writes_has_a_form(browser: httpx.AsyncClient) -> None:
    paths = (await browser.get("/openapi.json")).json()["paths"].values()
    writes = {operation["operationId"] for item in paths for method, operation in item.items() if method != "get"}
    texts = [(await browser.get(f"/pages/{page}")).text for page in PAGES]
    assert {operation for text in texts for operation in re.findall(r'action="/pages/-/(\w+)"', text)} == writes


async def test_the_list_is_filtered_and_continues_at_its_cursor(browser: httpx.AsyncClient) -> None:
    first = await browser.get("/pages/requests", params={"type_key": "vendor_onboarding", "requester_id": "E-110"})
    assert len(_rows(first.text)) == 20
    onward = first.text.split('data-testid="next-page"')[0].rpartition('href="')[2].partition('"')[0]
    second = await browser.get(onward.replace("&amp;", "&"))
    assert len(_rows(second.text)) == 3
    assert not set(_rows(first.text)) & set(_rows(second.text))
    assert _rows((await browser.get("/pages/requests", params={"approver_id": "E-104"})).text) == ["APR-1002"]
    assert _rows((await browser.get("/pages/requests", params={"ticket_ref": "OPS-1031"})).text) == ["APR-1003"]


async def test_a_view_lists_the_same_rows_as_the_tool_and_is_marked(browser: httpx.AsyncClient) -> None:
    own = (await browser.get("/pages/")).text
    views = re.findall(r'href="([^"]*)"(?: aria-current="page")? data-testid="view-(\w+)"', own)
    assert [name for _, name in views] == ["mine", "answer", "approver", "all"]
    for link, name in views:
        path = link.replace("&amp;", "&")
        shown = (await browser.get(path)).text
        listed = (await browser.get(f"/approvals?limit=20&{urlsplit(path).query}")).json()
        assert _rows(shown) == [row["id"] for row in listed["items"]], name
        assert f'data-testid="count">{listed["total"]}<' in shown
        assert re.findall(r'aria-current="page" data-testid="view-(\w+)"', shown) == [name]
    assert 'aria-current="page" data-testid="view-mine"' in own
    assert _rows(own) == _rows((await browser.get(views[0][0])).text)


async def test_a_pending_request_lists_possible_approvers_with_absences_and_delegations(tmp_path: Path) -> None:
    document = _document()
    company = document["company"]
    [waiting] = [row for row in document["requests"] if row["id"] == "APR-1002"]
    day = waiting["submitted_at"][:10]
    away = {"id": "ABS-9", "person_id": waiting["approver_id"], "first_day": day, "last_day": "2027-01-01"}
    valid = {"from_id": waiting["approver_id"], "type_keys": [], "limit_cents": None, "revoked_at": None}
    period = {"starts_at": waiting["submitted_at"], "ends_at": "2027-01-01T00:00:00Z"}
    given = {**document["delegations"][0], **valid, **period, "id": "DEL-8", "to_id": "E-110"}
    over = {**given, "id": "DEL-9", "to_id": "E-104", "revoked_at": waiting["submitted_at"]}
    document["company"] = company | {"absences": [*company["absences"], {**away, "kind": "sick"}]}
    document["delegations"] = [given, over]
    waiting["fields"]["employee_id"] = "E-110"
    async for browser in _browsing(tmp_path, Seed.model_validate(document)):
        text = (await browser.get("/pages/requests/APR-1002")).text
        listed = text.partition('data-testid="approvers"')[2].partition("</section>")[0]
        assert f'data-testid="approver-{waiting["approver_id"]}"' in listed
        assert "Away until Fri 1 Jan 2027" in listed
        assert "Delegation DEL-8 from" in listed
        assert "DEL-9" not in listed
        assert re.findall(r'data-testid="presence">([^<]*)', listed) == ["Away", "Concerned"]
        assert 'data-testid="approvers"' not in (await browser.get("/pages/requests/APR-1001")).text


async def test_the_form_of_a_type_has_its_fields(browser: httpx.AsyncClient) -> None:
    text = (await browser.get("/pages/submit/vendor_onboarding")).text
    assert set(re.findall(r'name="(fields\.[^"]+)"', text)) == {
        name for name in ONBOARDING if name.startswith("fields")
    }
    assert "At most 1 day old." in text


async def test_submitting_a_request_redirects_to_its_page(browser: httpx.AsyncClient) -> None:
    made = await _submit(browser, "submit_approval", "submit/vendor_onboarding", _next="requests/{id}", **ONBOARDING)
    assert made.url.path == "/pages/requests/APR-1005"
    assert _steps(made.text) == ["Submitted", "Waits for a decision"]
    assert (await browser.get("/approvals/APR-1005")).json()["fields"] == {
        "vendor_id": "V-204",
        "compliance_score": 88.5,
        "score_as_of": "2026-03-02T08:40:00Z",
        "annual_cost_cents": 1_250_050,
        "has_contract": False,
    }


async def test_a_rejected_form_shows_the_error_and_keeps_its_input(browser: httpx.AsyncClient) -> None:
    typed = ONBOARDING | {"fields.compliance_score:number": "many", "justification": HOSTILE, "approver_id": "E-99"}
    refused = await _submit(browser, "submit_approval", "submit/vendor_onboarding", **typed)
    assert refused.status_code == 422
    assert 'data-code="wrong-field-type"' in refused.text
    assert 'value="many"' in refused.text
    assert re.findall(r'<div class="form-error" id="([^"]*)">([^<]*)', refused.text) == [
        ("submit_approval-fields-compliance_score-number-error", "Must be a number; got &#34;many&#34;")
    ]
    assert refused.text.count('aria-invalid="true"') == 1
    assert '<option value="E-99" selected>' in refused.text
    assert '<option value="No" selected>' in refused.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in refused.text
    assert (await browser.get("/approvals/APR-1005")).status_code == 404


async def test_provided_information_appears_in_the_chain(browser: httpx.AsyncClient) -> None:
    page = (await browser.get("/pages/requests/APR-1003")).text
    assert _steps(page) == ["Submitted", "Info requested", "Waits for information"]
    given = await _submit(
        browser,
        "provide_information",
        "requests/APR-1003",
        request_id="APR-1003",
        answer=HOSTILE,
        **{"if_match:int": "2", "fields.until:date": "30 Jun 2026"},
    )
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in given.text
    assert "until: 2026-06-30" in given.text
    assert _steps(given.text) == ["Submitted", "Info requested", "Information given", "Waits for a decision"]
    assert given.text.count('aria-current="step"') == 1
    stale = await _submit(
        browser, "withdraw_approval", "requests/APR-1003", request_id="APR-1003", **{"if_match:int": "2"}
    )
    assert stale.status_code == 412
    assert 'data-code="stale-version"' in stale.text


async def test_an_ended_request_shows_the_reason_and_accepts_only_notes(browser: httpx.AsyncClient) -> None:
    about = {"request_id": "APR-1002", "if_match:int": "1", "_confirmed": "yes"}
    why = {"reason_code": "duplicate", "reason_ref": "REC-310"}
    ended = await _submit(browser, "cancel_approval", "requests/APR-1002", **about, **why)
    assert _steps(ended.text) == ["Submitted", "Cancelled"]
    assert "REC-310" in ended.text
    noted = await _submit(
        browser, "add_approval_note", "requests/APR-1002", **about | {"if_match:int": "2"}, body=HOSTILE
    )
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in noted.text
    assert set(re.findall(r'action="/pages/-/(\w+)"', noted.text)) == {"add_approval_note"}


async def test_a_delegation_with_an_invalid_period_is_rejected_and_another_is_revoked(
    browser: httpx.AsyncClient,
) -> None:
    arguments = {
        "from_id": "E-110",
        "to_id": "E-104",
        "ends_at:moment": "soon",
        "type_keys:list": "expense_report, access_request",
    }
    refused = await _submit(browser, "create_delegation", "delegations", **arguments)
    assert refused.status_code == 422
    assert refused.text.count(" checked ") == 2
    revoked = await _submit(browser, "revoke_delegation", "delegations", delegation_id="DEL-2")
    assert re.findall(r'data-testid="status">([^<]*)', revoked.text) == ["Ended", "Revoked"]


async def test_an_unavailable_page_shows_an_error_page(browser: httpx.AsyncClient) -> None:
    for page, status, code in (
        ("requests/APR-9", 404, "request-not-found"),
        ("types/nonsense", 404, "approval-type-not-found"),
        ("submit/nonsense", 404, "approval-type-not-found"),
        ("requests?status=nonsense", 422, "invalid-arguments"),
        ("delegations?cursor=x", 422, "invalid-cursor"),
    ):
        shown = await browser.get(f"/pages/{page}")
        assert shown.status_code == status, page
        assert f"<code>{code}</code>" in shown.text


async def test_hostile_text_is_shown_as_text(tmp_path: Path) -> None:
    async for browser in _browsing(tmp_path, Seed.model_validate(_hostile(demo_seed().model_dump(mode="json")))):
        for page in PAGES:
            text = (await browser.get(f"/pages/{page}")).text
            assert "<script>alert" not in text, page
            assert "<img src=x" not in text, page
            assert "{{ 7 * 7 }}" in text, page


@pytest.mark.parametrize(
    ("status", "kinds", "steps"),
    [
        ("pending", [], ["submitted", "waits_for_a_decision"]),
        ("escalated", ["approved"], ["submitted", "approved", "waits_for_a_decision"]),
        ("escalated", ["escalated"], ["submitted", "escalated", "waits_for_a_decision"]),
        ("rejected", ["info_requested", "rejected"], ["submitted", "info_requested", "information_given", "rejected"]),
        ("approved", [], ["submitted", "approved"]),
        ("approved", ["approved", "approved"], ["submitted", "approved", "approved"]),
        ("expired", ["info_requested"], ["submitted", "info_requested", "expired"]),
        ("withdrawn", [], ["submitted", "withdrawn"]),
        ("draft", [], ["draft"]),
    ],
)
def test_the_chain_ends_at_the_status_of_the_request(status: str, kinds: list[str], steps: list[str]) -> None:
    assert [step.kind for step in chain_of(_approval(status, kinds))] == steps


def _approval(status: str, kinds: list[str]) -> Approval:
    request = a_request(status=RequestStatus(status))
    columns = {name: getattr(request, name) for name in type(request).__dataclass_fields__}
    decisions = [
        Decision(kind=DecisionKind(kind), by=by, at=NOW, reason_code=None, reason_ref=None, reason="")
        for kind, by in zip(kinds, (CFO, CONTROLLER), strict=False)
    ]
    return Approval(**columns, approvals_needed=1, decisions=decisions, thread=[], notes=[], notes_total=0)


def _rows(text: str) -> list[str]:
    return [part.partition('"')[0] for part in text.split('data-testid="row-')[1:]]


def _steps(text: str) -> list[str]:
    return [word.strip() for word in re.findall(r'data-testid="step">([^<]*)', text)]


def _hostile(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with hostile text in every free-text column: names, titles, reasons and fields."""
    columns_by_table = {
        "approval_types": ("title", "description", "policy_ref"),
        "requests": ("subject", "justification", "ticket_ref"),
        "decisions": ("reason", "reason_code", "reason_ref"),
        "notes": ("body",),
    }
    changed = {
        name: [{**row, **dict.fromkeys(columns, HOSTILE)} for row in document[name]]
        for name, columns in columns_by_table.items()
    }
    for row in changed["requests"]:
        row["fields"] = {**row["fields"], HOSTILE: HOSTILE}
        if row["status"] == "rejected":
            row |= {"status": "cancelled", "reason_code": "duplicate", "reason_ref": HOSTILE}
    for row in changed["approval_types"]:
        row["fields"] = [{**field, "description": HOSTILE} for field in row["fields"]]
    company = document["company"]
    people = [{**person, "name": HOSTILE, "title": HOSTILE} for person in company["people"]]
    return document | changed | {"company": company | {"people": people}, "reactions": [], "scheduled_events": []}
