"""Questions of approvers: answers with and without the required fact, and the thread that stores them."""

from __future__ import annotations

from typing import Any

import pytest

from companyos_shared.framework.testing import ServiceHarness
from tests.approvalflow.builders import (
    AGENT,
    CFO,
    CONTROLLER,
    FIELDS,
    WHY,
    a_seed,
    delegation_row,
    reaction_row,
    submission,
)
from tests.approvalflow.conftest import DAY, Start, read_approval, start_with_question

QUESTION = "Which contract is it?"
INFO_REQUEST = reaction_row(
    kind="request_info", reason_code="more_information", reason=QUESTION, accepted=["CON-12", "supply frame"]
)
FRESH = {**FIELDS, "score_as_of": "2026-03-03T08:00:00Z"}
FILLER = "Everything has been checked and is in order."


async def _answer(flow: ServiceHarness, answer: str, request_id: str = "APR-1", **fields: Any) -> dict[str, Any]:
    """Answer, wait a day and return the request."""
    body = {"answer": answer, "fields": fields} if fields else {"answer": answer}
    response = await flow.post(f"/approvals/{request_id}/information", json=body)
    assert response.status_code == 200, response.text
    await flow.advance(minutes=DAY)
    return await read_approval(flow, request_id)


@pytest.mark.parametrize("answer", ["CON-12", "It is the Supply Frame contract.", "Sorry, I meant con 12 of course."])
async def test_an_answer_with_an_accepted_value_is_approved(start: Start, answer: str) -> None:
    assert (await _answer(await start_with_question(start, INFO_REQUEST), answer))["status"] == "approved"


async def test_an_accepted_value_may_be_in_a_field_of_the_answer(start: Start) -> None:
    flow = await start_with_question(start, INFO_REQUEST)
    approval = await _answer(flow, "See the vendor field.", vendor_id="CON-12")
    assert approval["status"] == "approved"
    assert approval["fields"]["vendor_id"] == "CON-12"


async def test_an_answer_without_the_value_gets_a_second_question(start: Start) -> None:
    flow = await start_with_question(start, INFO_REQUEST)
    approval = await _answer(flow, FILLER)
    first, second = approval["decisions"]
    assert approval["status"] == "info_requested"
    assert (second["kind"], second["reason_code"]) == ("info_requested", "more_information")
    assert second["reason"] != first["reason"]
    assert second["reason"].endswith(QUESTION)
    assert (await _answer(flow, "It is CON-12."))["status"] == "approved"


async def test_a_second_irrelevant_answer_is_rejected(start: Start) -> None:
    flow = await start_with_question(start, INFO_REQUEST)
    await _answer(flow, FILLER)
    approval = await _answer(flow, FILLER)
    assert approval["status"] == "rejected"
    assert approval["decisions"][-1]["reason_code"] == "information_not_provided"
    assert approval["decided_at"] == approval["decisions"][-1]["at"]


async def test_a_new_request_gets_the_unanswered_question(start: Start) -> None:
    flow = await start_with_question(start, INFO_REQUEST)
    await _answer(flow, FILLER)
    await _answer(flow, FILLER)
    await flow.post("/approvals", json=submission(fields={**FIELDS, "score_as_of": "2026-03-04T12:00:00Z"}))
    await flow.advance(minutes=DAY)
    approval = await read_approval(flow, "APR-2")
    assert [found["reason"] for found in approval["decisions"]] == [QUESTION]
    assert (await _answer(flow, "CON-12", "APR-2"))["status"] == "approved"


@pytest.mark.parametrize(
    "first", [{"justification": ""}, {"fields": {**FIELDS, "score_as_of": "2025-01-01T00:00:00Z"}}]
)
async def test_a_rejected_or_withdrawn_request_does_not_consume_the_question(
    start: Start, first: dict[str, Any]
) -> None:
    flow = await start(a_seed(reactions=[INFO_REQUEST]))
    await flow.post("/approvals", json=submission(**first))
    await flow.advance(minutes=DAY)
    assert (await read_approval(flow))["status"] == "rejected"
    await flow.post("/approvals", json=submission(fields=FRESH))
    await flow.advance(minutes=DAY)
    assert (await read_approval(flow, "APR-2"))["status"] == "info_requested"
    await flow.post("/approvals/APR-2/withdrawal")
    await flow.post("/approvals", json=submission(fields={**FIELDS, "score_as_of": "2026-03-04T08:00:00Z"}))
    await flow.advance(minutes=DAY)
    assert (await read_approval(flow, "APR-3"))["status"] == "info_requested"


async def test_the_next_planned_decision_follows_the_answered_question(start: Start) -> None:
    other = reaction_row(id="REA-2", n=2, kind="request_info", reason="Which year?", accepted=[2027])
    flow = await start_with_question(start, INFO_REQUEST, other)
    await _answer(flow, FILLER)
    approval = await _answer(flow, "CON-12, as of 2027")
    assert approval["decisions"][-1]["reason"] == "Which year?"
    assert (await _answer(flow, "2027"))["status"] == "approved"


async def test_a_question_without_accepted_values_accepts_any_answer(start: Start) -> None:
    flow = await start_with_question(start, {**INFO_REQUEST, "accepted": []})
    assert (await _answer(flow, FILLER))["status"] == "approved"


async def test_an_objection_takes_precedence_over_an_answer(start: Start) -> None:
    approval = await _answer(await start_with_question(start, INFO_REQUEST), "CON-12", for_person=CFO)
    assert approval["decisions"][-1]["reason_code"] == "conflict_of_interest"


async def test_another_approver_repeats_the_question_after_an_escalation(start: Start) -> None:
    flow = await start_with_question(start, INFO_REQUEST, delegations=[delegation_row()])
    await flow.post("/approvals/APR-1/information", json={"answer": FILLER})
    await flow.post("/approvals/APR-1/escalation", json={"approver_id": CONTROLLER})
    await flow.advance(minutes=DAY)
    approval = await read_approval(flow)
    assert [found["kind"] for found in approval["decisions"]] == ["info_requested", "escalated", "info_requested"]
    assert approval["decisions"][-1]["by"] == CONTROLLER


async def test_the_thread_lists_questions_and_answers_in_order(start: Start) -> None:
    flow = await start_with_question(start, INFO_REQUEST)
    await flow.post("/approvals/APR-1/notes", json={"body": "I am looking it up."})
    await _answer(flow, FILLER)
    approval = await _answer(flow, "It is CON-12.", score=90)
    first, again = (found for found in approval["decisions"] if found["kind"] == "info_requested")
    assert [(one["kind"], one["author_id"], one["text"]) for one in approval["thread"]] == [
        ("question", CFO, QUESTION),
        ("answer", AGENT, FILLER),
        ("question", CFO, again["reason"]),
        ("answer", AGENT, "It is CON-12.\n\nscore: 90"),
    ]
    assert [one["at"] for one in approval["thread"]] == sorted(one["at"] for one in approval["thread"])
    assert approval["thread"][0]["at"] == first["at"]
    assert [note["body"] for note in approval["notes"]] == ["I am looking it up."]
    assert (approval["justification"], approval["notes_total"]) == (WHY, 1)


async def test_no_response_reveals_the_accepted_values(start: Start) -> None:
    flow = await start_with_question(start, {**INFO_REQUEST, "accepted": ["CANARY-5b1f"]})
    texts = []
    for answer in (FILLER, FILLER):
        texts.append((await flow.post("/approvals/APR-1/information", json={"answer": answer})).text)
        await flow.advance(minutes=DAY)
        texts.append((await flow.get("/approvals/APR-1")).text)
        texts.append((await flow.get("/pages/requests/APR-1")).text)
    texts.append((await flow.post("/approvals/APR-1/information", json={"answer": FILLER})).text)
    assert "information_not_provided" in texts[4]
    assert not [text for text in texts if "canary" in text.casefold() or "accepted" in text.casefold()]
