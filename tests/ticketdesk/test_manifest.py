"""The OpenAPI document: operations, descriptions and documented errors."""

from __future__ import annotations

from typing import Any

import pytest

import companyos_ticketdesk.main
from companyos_shared.framework.testing import ServiceHarness

LONGEST_ANSWER_BYTES = 4000


def operations() -> dict[str, dict[str, Any]]:
    paths = companyos_ticketdesk.main.app.openapi()["paths"]
    return {
        operation["operationId"]: operation
        for path, item in paths.items()
        if path.startswith("/tickets")
        for operation in item.values()
    }


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("create_ticket", "cannot be deleted"),
        ("transition_ticket", "final"),
        ("verify_ticket", "cannot be undone"),
        ("complete_checklist_item", "cannot be reopened"),
        ("add_comment", "cannot be edited or deleted"),
    ],
)
def test_the_description_of_an_irreversible_tool_says_so(name: str, words: str) -> None:
    assert words in operations()[name]["description"].split("\n\n")[0]


def test_the_schemas_of_tickets_comments_and_links_have_examples() -> None:
    schemas = companyos_ticketdesk.main.app.openapi()["components"]["schemas"]
    bodies = ["NewTicket", "TicketChanges", "Move", "Assignment", "ApprovalLink", "NewComment", "NewLink"]
    answers = ["TicketView", "TicketDetail", "TicketRow", "CommentView", "LinkView", "RemovedLinkView", "HistoryEntry"]
    assert [
        name
        for name in [*bodies, "LinkRemoval", *answers, "LinkedTicket", "ChecklistItemView"]
        if not schemas[name].get("examples")
    ] == []


async def test_default_responses_are_short() -> None:
    async with ServiceHarness(companyos_ticketdesk.main.SERVICE) as desk:
        keys = [ticket["key"] for ticket in (await desk.get("/tickets?limit=50")).json()["items"]]
        paths = ["/tickets", "/tickets/search?query=the"]
        paths += [f"/tickets/{key}{more}" for key in keys for more in ("", "/history", "/comments")]
        sizes = {path: len((await desk.get(path)).content) for path in paths}
    assert {path: size for path, size in sizes.items() if size > LONGEST_ANSWER_BYTES} == {}
