"""Lists and details, and the values that they never show."""

from __future__ import annotations

import json

import pytest

from companyos_shared.framework.testing import ServiceHarness
from tests.approvalflow.builders import AGENT, CFO, CLERK, a_seed, reaction_row, request_row, submission, type_row
from tests.approvalflow.conftest import Start

MAX_BYTES = 4000


def _rows(count: int) -> list[dict[str, object]]:
    return [
        request_row(id=f"APR-{n}", subject=f"V-{n}", status="approved" if n % 2 else "pending", ticket_ref=f"OPS-{n}")
        for n in range(10, 10 + count)
    ]


async def test_requests_are_listed_in_pages(start: Start) -> None:
    flow = await start(a_seed(requests=_rows(23)))
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = (await flow.get("/approvals", params={"cursor": cursor} if cursor else {})).json()
        assert page["total"] == 23
        assert len(page["items"]) <= 10
        seen += [row["id"] for row in page["items"]]
        cursor = page["next_cursor"]
    assert sorted(seen) == sorted(f"APR-{n}" for n in range(10, 33))


async def test_requests_are_listed_newest_first(start: Start) -> None:
    flow = await start(a_seed(requests=[request_row()]))
    await flow.post("/approvals", json=submission())
    assert [row["id"] for row in (await flow.get("/approvals")).json()["items"]] == ["APR-41", "APR-40"]


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"status": "approved"}, {"APR-11", "APR-13"}),
        ({"subject": "V-12"}, {"APR-12"}),
        ({"ticket_ref": "OPS-10"}, {"APR-10"}),
        ({"approver_id": CFO, "status": "pending"}, {"APR-10", "APR-12"}),
        ({"requester_id": CLERK}, {"APR-10", "APR-11", "APR-12", "APR-13"}),
        ({"requester_id": AGENT}, set()),
        ({"type_key": "holiday"}, set()),
    ],
)
async def test_a_list_can_be_filtered(start: Start, filters: dict[str, str], found: set[str]) -> None:
    flow = await start(a_seed(requests=_rows(4)))
    page = (await flow.get("/approvals", params=filters)).json()
    assert {row["id"] for row in page["items"]} == found
    assert page["total"] == len(found)


async def test_an_unknown_status_or_cursor_is_rejected(flow: ServiceHarness) -> None:
    assert (await flow.get("/approvals", params={"status": "lost"})).json()["code"] == "invalid-arguments"
    assert (await flow.get("/approvals", params={"cursor": "%%"})).json()["code"] == "invalid-cursor"


async def test_an_approval_type_lists_its_required_fields(flow: ServiceHarness) -> None:
    listed = (await flow.get("/approval-types")).json()["items"]
    assert listed == [{"key": "onboarding", "title": "Onboarding", "policy_ref": "POL-1-v1"}]
    known = (await flow.get("/approval-types/onboarding")).json()
    assert [field["name"] for field in known["fields"] if field["required"]] == [
        "vendor_id",
        "score",
        "score_as_of",
        "cost_cents",
    ]
    assert known["thresholds"] == [
        {"up_to_cents": 500_000, "role": "finance_controller"},
        {"up_to_cents": None, "role": "cfo"},
    ]
    assert (await flow.get("/approval-types/holiday")).json()["code"] == "approval-type-not-found"


async def test_default_responses_are_small(start: Start) -> None:
    many = [type_row(key=f"type_{n}", title="A type with a rather long title") for n in range(12)]
    flow = await start(a_seed(requests=_rows(23), approval_types=[type_row(), *many]))
    for url in ("/approvals", "/approval-types", "/approval-types/onboarding", "/approvals/APR-10", "/delegations"):
        assert len((await flow.get(url)).content) <= MAX_BYTES, url


async def test_no_response_reveals_the_planned_decisions(start: Start) -> None:
    canary = "CANARY-5b1f"
    planned = [
        reaction_row(id=canary, n=7, kind="reject", reason_code=canary, reason=canary),
        reaction_row(id=f"{canary}-2", subject="V-2", kind="slow", reason=canary, extra_minutes=777),
    ]
    traits = [{"id": CFO, "min_minutes": 31_337, "max_minutes": 31_337}]
    flow = await start(a_seed(reactions=planned, traits=traits, requests=[request_row()]))
    texts = [
        (await flow.post("/approvals", json=submission())).text,
        (await flow.post("/approvals", json=submission(subject="V-2"))).text,
    ]
    for url in ("/approvals", "/approvals/APR-41", "/approvals/APR-42", "/approval-types/onboarding", "/delegations"):
        texts.append((await flow.get(url)).text)
    texts.append(json.dumps(flow.app.openapi()))
    for text in texts:
        assert canary not in text
        assert "31337" not in text
        assert "reaction" not in text
