"""Complete workflows on pages result in the same steps and verdict as with tools."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.form_replay import RecordedWrite, record_oracle_writes, replay_writes

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


MAX_CLICKS, MAX_LOADS = 39, 31
"""Limits for vendor onboarding, seed 7: 40 % below the 66 clicks and 52 page loads of the pages before links by id."""


@pytest.mark.parametrize(
    ("scenario", "javascript"),
    [("vendor_onboarding", True), ("vendor_onboarding", False), ("license_renewal", True), ("expense_report", True)],
)
def test_a_workflow_of_clicks_only_ends_in_success(
    visit: Any, enterprise: str, scenario: str, javascript: bool
) -> None:
    options, writes = _find_task_without_refresh(enterprise, scenario)
    episode_page = visit(javascript=javascript, **options)
    replay_writes(episode_page, writes)
    clicks, loads = episode_page.clicks, episode_page.loads
    episode_page.open("")
    assert "Outcome: success" in episode_page.text_of("notice")
    assert episode_page.state["success"] is True
    if scenario == "vendor_onboarding":
        assert clicks <= MAX_CLICKS
        assert loads <= MAX_LOADS
    assert {one.tool.partition("_")[0] for one in writes} >= {"ticketdesk", "datahub", "approvalflow"}


def _find_task_without_refresh(url: str, scenario: str) -> tuple[dict[str, Any], list[RecordedWrite]]:
    """Return the first task without a metric to refresh, and the oracle's writes.

    On pages, a refresh ends at another time than the one that the oracle entered.
    """
    for seed in range(7, 31):
        options = {"scenario": scenario, "seed": seed, "chaos": 1, "chaos_overrides": QUIET}
        writes = record_oracle_writes(url, options)
        if all(one.tool != "datahub_refresh_metric" for one in writes):
            return options, writes
    raise AssertionError(f"{scenario}: seeds 7 to 30 all need a refresh")


QUIET = dict.fromkeys(
    (
        *("unavailable", "rate_limited", "timeout_before_commit", "timeout_after_commit", "forbidden", "stale_read"),
        "stale_metric",
    ),
    0.0,
)
"""Pages make other calls than tools, so faults would affect other calls."""


def test_the_form_of_an_irreversible_operation_is_not_sent_without_confirmation(visit: Any) -> None:
    episode_page = visit(scenario="vendor_onboarding", seed=3, chaos=0)
    key = re.search(r"[A-Z]{2,5}-\d+", episode_page.brief)
    assert key is not None
    address = f"/ticketdesk/tickets/{key[0]}"
    episode_page.open(address)
    if episode_page.page.get_by_test_id("move-open").count():
        episode_page.page.get_by_test_id("move-open").click()
    steps = episode_page.state["step_count"]
    episode_page.page.get_by_test_id("open-move-cancelled").click()
    episode_page.page.get_by_test_id("move-cancelled-reason_code").select_option("duplicate")
    episode_page.page.get_by_test_id("move-cancelled-reason_ref").fill("POL-1")
    tick = episode_page.page.get_by_test_id("confirm-move-cancelled")
    before = tick.locator("..").evaluate("label => getComputedStyle(label).color")
    episode_page.page.get_by_test_id("move-cancelled").click()
    assert tick.locator("..").evaluate("label => getComputedStyle(label).color") != before
    assert episode_page.state["step_count"] == steps
    tick.check()
    episode_page.page.get_by_test_id("move-cancelled").click()
    episode_page.page.get_by_test_id("done").wait_for()
    assert episode_page.text_of("status") == "Cancelled"
    assert episode_page.state["step_count"] == steps + 1
