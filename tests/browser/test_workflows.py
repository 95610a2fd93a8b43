"""Complete workflows on pages: they have the same steps and verdict as with tools."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.form_replay import record_oracle_writes, replay_writes

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


@pytest.mark.parametrize(
    ("scenario", "javascript"),
    [("vendor_onboarding", True), ("vendor_onboarding", False), ("license_renewal", True), ("expense_report", True)],
)
def test_a_workflow_that_is_only_clicked_ends_in_success(
    visit: Any, enterprise: str, scenario: str, javascript: bool
) -> None:
    options = {"scenario": scenario, "seed": 11, "chaos": 1, "chaos_overrides": QUIET}
    writes = record_oracle_writes(enterprise, options)
    visitor = visit(javascript=javascript, **options)
    replay_writes(visitor, writes)
    visitor.open("")
    assert "Outcome: success" in visitor.text_of("notice")
    assert visitor.state["success"] is True
    assert {one.tool.partition("_")[0] for one in writes} >= {"ticketdesk", "datahub", "approvalflow"}


QUIET = dict.fromkeys(
    (
        *("unavailable", "rate_limited", "timeout_before_commit", "timeout_after_commit", "forbidden", "stale_read"),
        "stale_metric",
    ),
    0.0,
)
"""Pages make other calls than tools, so faults would strike at other places and a refresh would end at another time."""
