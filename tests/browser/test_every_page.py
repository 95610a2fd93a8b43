"""Every linked page loads, is accessible, and requests nothing from other hosts."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.browser.accessibility import faults_of
from tests.browser.conftest import NARROW, WIDE

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

OPTIONS: dict[str, Any] = {"scenario": "vendor_onboarding", "seed": 3, "chaos": 2}
PER_KIND = 2
"""Maximum number of visited pages of each kind, such as tickets."""

CRAWL_STEPS = 100
"""Steps that provide the page views of a crawl."""


def _kind(path: str) -> str:
    """Return the kind of a page: its path with placeholders for ids."""
    parts = path.split("/apps", 1)[1].split("/")
    return "/".join(part if re.fullmatch(r"[a-z_-]*", part) else "*" for part in parts)


def _crawl(episode_page: Any, inspect: Callable[[], object] = lambda: None, *, per_kind: int = PER_KIND) -> list[str]:
    """Open linked pages, a few of each kind, call the function on each, and return the paths."""
    episode_page.wait(CRAWL_STEPS)
    seen: dict[str, list[str]] = {}
    waiting = [urlsplit(episode_page.page.url).path]
    found: list[str] = []
    while waiting:
        path = waiting.pop(0)
        own = seen.setdefault(_kind(path), [])
        if path in own or len(own) >= per_kind:
            continue
        own.append(path)
        found.append(path)
        episode_page.page.goto(f"{episode_page.url}{path}")
        inspect()
        links = episode_page.page.eval_on_selector_all("a[href]", "links => links.map(link => link.href)")
        waiting += [urlsplit(link).path for link in links if "/apps" in urlsplit(link).path]
    return found


@pytest.mark.parametrize("javascript", [True, False], ids=["with JavaScript", "without"])
def test_all_links_lead_to_pages_and_no_request_leaves_the_machine(visit: Any, javascript: bool) -> None:
    episode_page = visit(javascript=javascript, **OPTIONS)
    answers = []
    episode_page.page.on("response", lambda answer: answers.append((answer.status, answer.url)))
    errors: list[str] = []
    episode_page.page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
    paths = _crawl(episode_page)
    assert len(paths) >= 12
    assert [one for one in answers if one[0] >= 400] == []
    assert errors == []
    hosts = {urlsplit(url).netloc for url in episode_page.requested}
    assert hosts == {urlsplit(episode_page.url).netloc}


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_axe_reports_no_serious_violations_and_no_page_overflows_its_window(visit: Any, width: int) -> None:
    episode_page = visit(width=width, **OPTIONS)
    faults: list[str] = []
    _crawl(episode_page, lambda: faults.extend(_faults(episode_page, width)), per_kind=PER_KIND if width == WIDE else 1)
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_score_of_a_finished_episode_is_accessible(visit: Any, width: int) -> None:
    episode_page = visit(width=width, **OPTIONS)
    episode_page.fill_and_send("finish", {"outcome": "done", "summary": "All is well."})
    assert episode_page.text_of("score-outcome") == "Failed"
    assert episode_page.text_of("score-check") == "Failed"
    assert _faults(episode_page, width) == []
    badges = episode_page.page.get_by_test_id("score-check")
    assert len({badges.nth(at).bounding_box()["height"] for at in range(badges.count())}) == 1, "a badge is broken"
    if folder := os.environ.get("SCREENSHOTS"):
        (Path(folder) / f"score-{width}.png").write_bytes(episode_page.capture())


def _faults(episode_page: Any, width: int) -> list[str]:
    return faults_of(episode_page.page, width, urlsplit(episode_page.page.url).path)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_two_screenshots_of_the_same_state_are_equal(visit: Any, width: int) -> None:
    folder = os.environ.get("SCREENSHOTS")
    reader, first, second = (visit(width=width, **OPTIONS) for _ in range(3))
    for name, path in _main_pages(reader).items():  # the start page shows how many page views are left
        pictures = []
        for episode_page in (first, second):
            episode_page.open(path)
            pictures.append(episode_page.capture())
        assert pictures[0] == pictures[1], name
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            (Path(folder) / f"{name}-{width}.png").write_bytes(pictures[0])


def _main_pages(episode_page: Any) -> dict[str, str]:
    """Return the paths of the ten main pages by the names of their screenshots."""
    key = re.search(r"[A-Z]{2,5}-\d+", episode_page.brief)
    assert key is not None
    return {
        "desk": "",
        "tickets": "/ticketdesk/",
        "board": "/ticketdesk/board",
        "ticket": f"/ticketdesk/tickets/{key[0]}",
        "catalogue": "/datahub/",
        "metric": _first(episode_page, "/datahub/", "/datahub/metrics/"),
        "vendor": _first(episode_page, "/datahub/vendors", "/datahub/vendors/"),
        "organisation": "/datahub/organisation",
        "request": _first(episode_page, "/approvalflow/requests", "/approvalflow/requests/"),
        "submit": "/approvalflow/submit/vendor_onboarding",
    }


def _first(episode_page: Any, path: str, below: str) -> str:
    """Return the path of the first link in a list."""
    episode_page.open(path)
    link: str = episode_page.page.locator(f'main a[href*="{below}"]').first.get_attribute("href")
    return link.split("/apps", 1)[1]


def test_no_badge_of_a_list_wraps_within_a_word(visit: Any) -> None:
    episode_page = visit(javascript=False, scenario="vendor_onboarding", seed=5, chaos=2)
    episode_page.page.goto(episode_page.page.url.split("/apps", 1)[0] + "/apps/ticketdesk/")
    badges = episode_page.page.locator(".table .badge").filter(has_text=re.compile(r"^\S+$"))
    heights = badges.evaluate_all("badges => badges.map(badge => badge.offsetHeight)")
    assert len(heights) > 10
    assert max(heights) < 1.3 * min(heights), "a badge has two lines"
