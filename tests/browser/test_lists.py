"""Lists in a browser: sorting, Previous and Next, and suggestions for IDs."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from companyos_shared.pages.values import parse_day
from tests.browser.accessibility import faults_of
from tests.browser.conftest import WIDE, expect

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

OPTIONS: dict[str, Any] = {"scenario": "vendor_onboarding", "seed": 3, "chaos": 2}
PRIORITIES = ["Low", "Medium", "High", "Critical"]


def _column(episode_page: Any, head: str) -> list[str]:
    heads = episode_page.page.locator("thead th").all_inner_texts()
    at = next(number for number, text in enumerate(heads, start=1) if text.startswith(head))
    return [text.strip() for text in episode_page.page.locator(f"tbody td:nth-child({at})").all_inner_texts()]


def _sort(episode_page: Any, head: str) -> None:
    episode_page.page.get_by_role("columnheader", name=head).get_by_role("button").click()


def test_tickets_are_sorted_by_priority_and_by_due_date_in_both_directions(visit: Any) -> None:
    episode_page = visit(**OPTIONS)
    episode_page.open("/ticketdesk/")
    _sort(episode_page, "Priority")
    ranks = [PRIORITIES.index(text) for text in _column(episode_page, "Priority") if text in PRIORITIES]
    assert len(set(ranks)) > 2
    assert ranks == sorted(ranks)
    assert episode_page.page.locator("[aria-sort]").get_attribute("aria-sort") == "ascending"
    _sort(episode_page, "Due")
    _sort(episode_page, "Due")
    dates = [re.match(r"\d+ \w+ \d+, \d\d:\d\d", text) for text in _column(episode_page, "Due")]
    due = [datetime.strptime(f"{found[0]} +0000", "%d %b %Y, %H:%M %z") for found in dates if found]
    assert len(set(due)) > 2
    assert due == sorted(due, reverse=True)
    assert dates == sorted(dates, key=lambda found: found is None), "rows without a date are not last"
    assert episode_page.page.locator("[aria-sort]").get_attribute("aria-sort") == "descending"
    assert faults_of(episode_page.page, WIDE, episode_page.path) == []


def test_amounts_are_sorted_as_numbers(visit: Any) -> None:
    episode_page = visit(**OPTIONS)
    episode_page.open("/datahub/")
    _sort(episode_page, "Value")
    amounts = [re.match(r"-?[\d,.]+", text) for text in _column(episode_page, "Value")]
    values = [float(found[0].replace(",", "")) for found in amounts if found]
    assert len(set(values)) > 2
    assert values == sorted(values)


def test_days_and_durations_are_sorted_by_value(visit: Any) -> None:
    episode_page = visit(**OPTIONS)
    episode_page.open("/datahub/records")
    _sort(episode_page, "Starts")
    starts = [parse_day(text) for text in _column(episode_page, "Starts") if text != "-"]
    assert len(set(starts)) > 2
    assert starts == sorted(starts)
    episode_page.open("/datahub/sources")
    _sort(episode_page, "Stale after")
    limits = [_minutes(text) for text in _column(episode_page, "Stale after")]
    assert len(set(limits)) > 2
    assert limits == sorted(limits)


def _minutes(text: str) -> int:
    units = {"d": 1440, "h": 60, "m": 1}
    return sum(int(count) * units[unit[0]] for count, unit in re.findall(r"(\d+) (\w+)", text))


def test_previous_and_next_follow_the_sorted_list(visit: Any) -> None:
    episode_page = visit(**OPTIONS)
    episode_page.open("/ticketdesk/")
    _sort(episode_page, "Title")
    keys = _column(episode_page, "Key")
    episode_page.page.get_by_role("link", name=keys[1], exact=True).click()
    list_nav = episode_page.page.get_by_role("navigation", name="List")
    expect(list_nav).to_contain_text(f"2 of {len(keys)}")
    expect(list_nav.get_by_role("link", name="Previous")).to_have_attribute("title", keys[0])
    expect(list_nav.get_by_role("link", name="Next")).to_have_attribute("title", keys[2])
    list_nav.get_by_role("link", name="Next").click()
    expect(episode_page.page.get_by_role("navigation", name="List")).to_contain_text(f"3 of {len(keys)}")
    assert episode_page.path.endswith(keys[2])
    assert faults_of(episode_page.page, WIDE, episode_page.path) == []
    for _ in range(2):
        episode_page.page.get_by_role("navigation", name="List").get_by_role("link", name="Previous").click()
    expect(episode_page.page.get_by_role("navigation", name="List")).to_contain_text(f"1 of {len(keys)}")
    assert episode_page.page.get_by_role("navigation", name="List").get_by_role("link", name="Previous").count() == 0


def test_a_field_for_any_id_suggests_only_ids_that_the_pages_of_the_episode_have_shown(visit: Any) -> None:
    episode_page = visit(**OPTIONS)
    _open(episode_page, "/ticketdesk/")
    row = episode_page.page.locator("tbody tr").first
    key, title = row.locator("td").nth(0).inner_text(), row.locator("td").nth(1).inner_text()
    shown = episode_page.page.content()
    _open(episode_page, "/approvalflow/")
    shown += episode_page.page.content()
    episode_page.page.wait_for_load_state("networkidle")
    requested = len(episode_page.requested)
    suggested = _suggestions(episode_page, "Go to ID")
    assert title[:20] in suggested[key]
    assert [name for name in suggested if name not in shown and name not in episode_page.brief] == []
    assert not any(name.startswith("VEN-") for name in suggested), "no page with vendors was opened"
    assert len(episode_page.requested) == requested
    _open(episode_page, "/datahub/vendors")
    _open(episode_page, "/approvalflow/")
    assert any(name.startswith("VEN-") for name in _suggestions(episode_page, "Go to ID"))
    other = visit(**OPTIONS)
    _open(other, "/approvalflow/")
    assert key not in _suggestions(other, "Go to ID")


def test_a_field_for_one_kind_of_id_suggests_only_ids_of_this_kind(visit: Any) -> None:
    episode_page = visit(**OPTIONS)
    _open(episode_page, "/ticketdesk/")
    keys = set(_column(episode_page, "Key"))
    _open(episode_page, "/datahub/vendors")
    vendors = set(_column(episode_page, "ID"))
    _open(episode_page, "/approvalflow/")
    assert keys <= set(_suggestions(episode_page, "Ticket"))
    assert not vendors & set(_suggestions(episode_page, "Ticket"))
    _open(episode_page, "/datahub/records")
    assert vendors <= set(_suggestions(episode_page, "Vendor ID"))
    assert not keys & set(_suggestions(episode_page, "Vendor ID"))
    assert faults_of(episode_page.page, WIDE, episode_page.path) == []


def test_a_chosen_suggestion_is_submitted_unchanged(visit: Any) -> None:
    episode_page = visit(**OPTIONS)
    _open(episode_page, "/datahub/vendors")
    vendor = _column(episode_page, "ID")[0]
    _open(episode_page, "/datahub/records")
    chosen = next(name for name in _suggestions(episode_page, "Vendor ID") if name == vendor)
    episode_page.page.get_by_label("Vendor ID").fill(chosen)
    episode_page.page.get_by_test_id("find").click()
    assert parse_qs(urlsplit(episode_page.page.url).query)["vendor_id"] == [vendor]
    expect(episode_page.page.get_by_label("Vendor ID")).to_have_value(vendor)


def test_without_javascript_id_fields_have_no_suggestions_and_lists_have_no_buttons(visit: Any) -> None:
    episode_page = visit(javascript=False, **OPTIONS)
    episode_page.open("/datahub/vendors")
    assert episode_page.page.locator("th button").count() == 0
    episode_page.page.locator("tbody a").first.click()
    assert episode_page.page.get_by_role("navigation", name="List").count() == 0
    assert episode_page.page.locator("input[list], datalist").count() == 0


def _open(episode_page: Any, path: str) -> None:
    """Open a page, and wait until its script has recorded the IDs that it shows, after its first paint."""
    episode_page.open(path)
    expect(episode_page.page.get_by_label("Go to ID", exact=True)).to_have_attribute("list", "seen-any")


def _suggestions(episode_page: Any, label: str) -> dict[str, str]:
    options = "field => [...field.list.options].map(one => [one.value, one.label])"
    found: list[tuple[str, str]] = episode_page.page.get_by_label(label, exact=True).evaluate(options)
    return dict(found)
