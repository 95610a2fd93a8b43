"""Pages of a standalone ApprovalFlow: they show the results of the tools, and each form is a tool call."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from companyos_approvalflow.decisions.model import DecisionKind
from companyos_approvalflow.main import SERVICE
from companyos_approvalflow.pages.request import chain_of
from companyos_approvalflow.requests.model import RequestStatus
from companyos_approvalflow.requests.schemas import Approval, Decision
from companyos_approvalflow.seed import Seed
from tests.approvalflow.builders import CFO, CONTROLLER, NOW, a_request
from tests.service_pages import HOSTILE, PageBrowser, browse, rows_of

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
    document = SERVICE.demo_seed().model_dump(mode="json")
    ended = next(row for row in document["requests"] if row["id"] == "APR-1001")
    more = [{**ended, "id": f"APR-{100 + number}", "subject": f"V-{number}"} for number in range(22)]
    return document | {"requests": document["requests"] + more}


def _browse(folder: Path, document: dict[str, Any]) -> AbstractAsyncContextManager[PageBrowser]:
    seed = Seed.model_validate(document)
    return browse(replace(SERVICE, demo_seed=lambda: seed), folder)


@pytest.fixture
async def browser(tmp_path: Path) -> AsyncIterator[PageBrowser]:
    async with _browse(tmp_path, _document()) as own:
        yield own


async def test_the_list_is_filtered_and_continues_at_its_cursor(browser: PageBrowser) -> None:
    _, second = await browser.rows_of_two_pages("requests", type_key="vendor_onboarding", requester_id="E-110")
    assert len(second) == 3
    assert rows_of((await browser.get("/pages/requests", params={"approver_id": "E-104"})).text) == ["APR-1002"]
    assert rows_of((await browser.get("/pages/requests", params={"ticket_ref": "OPS-1031"})).text) == ["APR-1003"]


async def test_a_view_lists_the_same_rows_as_the_tool_and_is_marked(browser: PageBrowser) -> None:
    await browser.check_views("approvals", "id", ["mine", "answer", "approver", "all"])
    own = (await browser.get("/pages/")).text
    link = own.partition('" aria-current="page" data-testid="view-mine"')[0].rpartition('href="')[2]
    assert rows_of(own) == rows_of((await browser.get(link.replace("&amp;", "&"))).text)


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
    async with _browse(tmp_path, document) as browser:
        text = (await browser.get("/pages/requests/APR-1002")).text
        listed = text.partition('data-testid="approvers"')[2].partition("</section>")[0]
        assert f'data-testid="approver-{waiting["approver_id"]}"' in listed
        assert "Away until Fri 1 Jan 2027" in listed
        assert "Delegation DEL-8 from" in listed
        assert "DEL-9" not in listed
        assert re.findall(r'data-testid="presence">([^<]*)', listed) == ["Away", "Concerned"]
        assert 'data-testid="approvers"' not in (await browser.get("/pages/requests/APR-1001")).text


async def test_the_form_of_a_type_has_its_fields(browser: PageBrowser) -> None:
    text = (await browser.get("/pages/submit/vendor_onboarding")).text
    assert set(re.findall(r'name="(fields\.[^"]+)"', text)) == {
        name for name in ONBOARDING if name.startswith("fields")
    }
    assert "At most 1 day old." in text


async def test_submitting_a_request_redirects_to_its_page(browser: PageBrowser) -> None:
    made = await browser.submit("submit_approval", "submit/vendor_onboarding", _next="requests/{id}", **ONBOARDING)
    assert made.url.path == "/pages/requests/APR-1005"
    assert _steps(made.text) == ["Submitted", "Waits for a decision"]
    assert (await browser.get("/approvals/APR-1005")).json()["fields"] == {
        "vendor_id": "V-204",
        "compliance_score": 88.5,
        "score_as_of": "2026-03-02T08:40:00Z",
        "annual_cost_cents": 1_250_050,
        "has_contract": False,
    }


async def test_a_rejected_form_shows_the_error_and_keeps_its_input(browser: PageBrowser) -> None:
    typed = ONBOARDING | {"fields.compliance_score:number": "many", "justification": HOSTILE, "approver_id": "E-99"}
    refused = await browser.submit("submit_approval", "submit/vendor_onboarding", **typed)
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


async def test_provided_information_appears_in_the_chain(browser: PageBrowser) -> None:
    page = (await browser.get("/pages/requests/APR-1003")).text
    assert _steps(page) == ["Submitted", "Info requested", "Waits for information"]
    given = await browser.submit(
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
    stale = await browser.submit(
        "withdraw_approval", "requests/APR-1003", request_id="APR-1003", **{"if_match:int": "2"}
    )
    assert stale.status_code == 412
    assert 'data-code="stale-version"' in stale.text


async def test_an_ended_request_shows_the_reason_and_accepts_only_notes(browser: PageBrowser) -> None:
    about = {"request_id": "APR-1002", "if_match:int": "1", "_confirmed": "yes"}
    why = {"reason_code": "duplicate", "reason_ref": "REC-310"}
    ended = await browser.submit("cancel_approval", "requests/APR-1002", **about, **why)
    assert _steps(ended.text) == ["Submitted", "Cancelled"]
    assert "REC-310" in ended.text
    noted = await browser.submit(
        "add_approval_note", "requests/APR-1002", **about | {"if_match:int": "2"}, body=HOSTILE
    )
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in noted.text
    assert set(re.findall(r'action="/pages/-/(\w+)"', noted.text)) == {"add_approval_note"}


async def test_a_delegation_with_an_invalid_period_is_rejected_and_another_is_revoked(
    browser: PageBrowser,
) -> None:
    arguments = {
        "from_id": "E-110",
        "to_id": "E-104",
        "ends_at:moment": "soon",
        "type_keys:list": "expense_report, access_request",
    }
    refused = await browser.submit("create_delegation", "delegations", **arguments)
    assert refused.status_code == 422
    assert refused.text.count(" checked ") == 2
    revoked = await browser.submit("revoke_delegation", "delegations", delegation_id="DEL-2")
    assert re.findall(r'data-testid="status">([^<]*)', revoked.text) == ["Ended", "Revoked"]


async def test_an_unavailable_page_shows_an_error_page(browser: PageBrowser) -> None:
    await browser.check_errors(
        ("requests/APR-9", 404, "request-not-found"),
        ("types/nonsense", 404, "approval-type-not-found"),
        ("submit/nonsense", 404, "approval-type-not-found"),
        ("requests?status=nonsense", 422, "invalid-arguments"),
        ("delegations?cursor=x", 422, "invalid-cursor"),
    )


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


def _steps(text: str) -> list[str]:
    return [word.strip() for word in re.findall(r'data-testid="step">([^<]*)', text)]
