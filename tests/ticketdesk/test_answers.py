"""Colleagues who are mentioned in a comment answer under the ticket, in office time."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from companyos_shared.framework.testing import ServiceHarness
from companyos_ticketdesk.seed import Seed
from tests.ticketdesk.builders import AGENT, AWAY, DEPARTED, EVA, a_company, a_row, a_seed
from tests.ticketdesk.conftest import OpenDesk

KNOWN = {"id": "answer-1", "person_id": EVA, "ticket_key": "OPS-1", "body": "It arrived yesterday."}
DEFAULT_ANSWER = "I have nothing to add to this, sorry."


async def _comment(desk: ServiceHarness, body: str, key: str = "OPS-1") -> None:
    assert (await desk.post(f"/tickets/{key}/comments", json={"body": body})).status_code == 201


async def _answers(desk: ServiceHarness, key: str = "OPS-1") -> list[tuple[str, str, str]]:
    comments = (await desk.get(f"/tickets/{key}/comments")).json()["items"]
    found = ((one["author_id"], one["created_at"], one["body"]) for one in comments)
    return [one for one in found if one[0] != AGENT]


async def test_a_colleague_answers_with_a_known_fact_about_the_ticket(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(), answers=[KNOWN])
    await _comment(desk, f"@{EVA}, did it arrive?")
    await desk.advance(minutes=60)
    assert await _answers(desk) == []
    await desk.advance(minutes=30)
    assert await _answers(desk) == [(EVA, "2026-03-02T10:30:00Z", "It arrived yesterday.")]


async def test_a_colleague_without_a_known_fact_says_so(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(), a_row("OPS-2"), answers=[KNOWN])
    await _comment(desk, f"Did it arrive, @{EVA}?", "OPS-2")
    await desk.advance(minutes=90)
    assert [body for _, _, body in await _answers(desk, "OPS-2")] == [DEFAULT_ANSWER]


async def test_an_absent_colleague_answers_after_the_return(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row())
    await _comment(desk, f"@{AWAY} please have a look")
    await desk.advance(minutes=60 * 24 * 8)
    assert await _answers(desk) == []
    await desk.advance(minutes=60 * 24 * 2)
    assert [(who, at[:10]) for who, at, _ in await _answers(desk)] == [(AWAY, "2026-03-11")]


async def test_a_colleague_who_is_absent_for_years_does_not_answer(open_desk: OpenDesk) -> None:
    company = a_company()
    absence = company.absences[0].model_copy(update={"last_day": date(2028, 3, 1)})
    desk = await open_desk(a_row(), company=company.model_copy(update={"absences": (absence,)}))
    await _comment(desk, f"@{AWAY} please have a look")
    assert await _answers(desk) == []


@pytest.mark.parametrize("body", [f"@{DEPARTED}?", f"@{AGENT}?", "@p-nobody?", f"{EVA}?", f"mail to eva@{EVA}.example"])
async def test_only_a_mentioned_colleague_answers(open_desk: OpenDesk, body: str) -> None:
    desk = await open_desk(a_row(), answers=[KNOWN])
    await _comment(desk, body)
    assert (await desk.advance(minutes=60 * 24 * 12)).changes == []


async def test_each_mentioned_colleague_answers_once(open_desk: OpenDesk) -> None:
    desk = await open_desk(a_row(), answers=[KNOWN])
    await _comment(desk, f"@{EVA} and @p-acc: did it arrive? @{EVA}!")
    await desk.advance(minutes=90)
    assert sorted((who, body) for who, _, body in await _answers(desk)) == [
        ("p-acc", DEFAULT_ANSWER),
        (EVA, "It arrived yesterday."),
    ]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([{**KNOWN, "person_id": "p-nobody"}], r"answers\.0\.person_id: unknown id p-nobody"),
        ([{**KNOWN, "ticket_key": "OPS-9"}], r"answers\.0\.ticket_key: unknown id OPS-9"),
        ([KNOWN, {**KNOWN, "id": "answer-2"}], "answers by person and ticket: ids must be unique"),
    ],
)
def test_invalid_answers_are_rejected(answers: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Seed.model_validate(a_seed(a_row(), answers=answers))
