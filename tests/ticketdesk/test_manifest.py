"""The OpenAPI document: operations, descriptions and documented errors."""

from __future__ import annotations

from typing import Any

import pytest

import companyos.contract
import companyos_ticketdesk.main
from companyos_shared.wire.company import ReasonCode


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


def test_the_reasons_are_those_of_the_contract() -> None:
    assert [code.value for code in ReasonCode] == [code.value for code in companyos.contract.ReasonCode]
