"""Malicious text in a real browser: no script runs, no request is sent, and no page exceeds the window width."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pytest

from tests.browser.conftest import NARROW
from tests.payloads import PAYLOADS, marked

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


WIDER = """width => document.documentElement.scrollWidth <= width ? [] : [...document.querySelectorAll("body *")]
  .filter(one => one.getBoundingClientRect().right > width && !one.closest(".table-responsive"))
  .map(one => one.outerHTML.slice(0, 200))"""
"""Script that returns the elements that are wider than the window."""


def _call(episode_page: Any, tool: str, arguments: dict[str, Any]) -> Any:
    body = {"episode_id": episode_page.episode_id, "action": {"tool_name": tool, "arguments": arguments}}
    answer = httpx.post(f"{episode_page.url}/step", json=body, timeout=30).raise_for_status().json()
    return answer["observation"]["result"]


def test_every_payload_is_shown_as_it_was_written(visit: Any) -> None:
    episode_page = visit(width=NARROW, scenario="vendor_onboarding", seed=3, chaos=0)
    page = episode_page.page
    trouble: list[str] = []
    page.on("dialog", lambda dialog: trouble.append(dialog.message))
    page.on("dialog", lambda dialog: dialog.dismiss())
    page.on("console", lambda line: trouble.append(line.text) if line.type == "error" else None)
    team = _call(episode_page, "ticketdesk_list_tickets", {"limit": 1})["items"][0]["team_id"]
    for number, payload in enumerate(PAYLOADS.values()):
        text = marked(number, payload)
        ticket = {"title": text[:200], "type": "task", "team_id": team, "description": text, "tags": [text[:40]]}
        made = _call(episode_page, "ticketdesk_create_ticket", ticket)
        if "key" not in made:
            continue
        _call(episode_page, "ticketdesk_add_comment", {"key": made["key"], "body": text})
        episode_page.open(f"/ticketdesk/tickets/{quote(made['key'])}")
        assert len(page.get_by_text(f"mark{number:04}.").all()) >= 3
        read = page.evaluate("() => document.body.textContent.replaceAll(/\\s+/g, ' ')")
        whole = page.evaluate(
            "text => text.replaceAll(/\\s+/g, ' ')", text.replace("\r", "\n").replace("\x00", "\ufffd")
        )
        assert whole in read, payload
        assert page.evaluate(WIDER, NARROW) == [], payload
    for path in ("/ticketdesk/", "/ticketdesk/board", ""):
        episode_page.open(path)
        assert page.evaluate(WIDER, NARROW) == [], path
    assert trouble == []
    assert {urlsplit(url).netloc for url in episode_page.requested} == {urlsplit(episode_page.url).netloc}
