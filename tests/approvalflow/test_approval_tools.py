"""The OpenAPI document of ApprovalFlow: descriptions, documented errors and small responses."""

from __future__ import annotations

from typing import Any

from companyos_approvalflow.main import app

KEYED = {"submit_approval", "create_delegation", "add_approval_note"}
VERSIONED = {"provide_information", "escalate_approval", "withdraw_approval", "cancel_approval", "add_approval_note"}
LONGEST_DESCRIPTION = 60


def _operations() -> dict[str, dict[str, Any]]:
    paths = app.openapi()["paths"]
    return {operation["operationId"]: operation for item in paths.values() for operation in item.values()}


def _with_parameter(name: str) -> set[str]:
    return {
        operation_id
        for operation_id, operation in _operations().items()
        if name in {parameter["name"] for parameter in operation.get("parameters", [])}
    }


def test_a_tool_description_begins_with_one_short_sentence() -> None:
    for operation_id, operation in _operations().items():
        first = operation["description"].split("\n\n")[0]
        assert first.endswith("."), operation_id
        assert len(first) <= LONGEST_DESCRIPTION, operation_id


def test_tools_that_create_accept_an_idempotency_key() -> None:
    assert _with_parameter("Idempotency-Key") == KEYED


def test_tools_that_change_a_request_accept_a_version() -> None:
    assert _with_parameter("If-Match") == VERSIONED


def test_every_error_is_documented_with_its_codes() -> None:
    submit = _operations()["submit_approval"]["responses"]
    codes = {
        code
        for response in submit.values()
        for content in response.get("content", {}).values()
        for code in content.get("examples", {})
    }
    assert {"own-request", "approver-out-of-office", "delegation-ended", "request-open", "field-missing"} <= codes
    assert "application/problem+json" in submit["409"]["content"]


def test_bodies_have_examples() -> None:
    schemas = app.openapi()["components"]["schemas"]
    for name in ("NewApproval", "Information", "Escalation", "Cancellation", "NewNote", "NewDelegation", "Approval"):
        assert schemas[name]["example"], name
