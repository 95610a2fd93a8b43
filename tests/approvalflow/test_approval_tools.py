"""The OpenAPI document of ApprovalFlow: documented errors and examples."""

from __future__ import annotations

from companyos_approvalflow.main import app


def test_every_error_is_documented_with_its_codes() -> None:
    submit = app.openapi()["paths"]["/approvals"]["post"]["responses"]
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
