"""Every form of every page shows its errors and keeps its input."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urlsplit

from tests.contract.crawler import Page
from tests.ui.http_browser import Browser

TYPED = "<typed> & \"kept\" 'so'"
PAGES = 80
MIN_FORMS = 12


class Forms(HTMLParser):
    """Parser of the forms of a page: action, and kind and value of each field by name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: list[tuple[str, dict[str, tuple[str, str]]]] = []
        self._fields: dict[str, tuple[str, str]] | None = None
        self._area: str | None = None
        self._choice: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "form" and attributes.get("method") == "post":
            self._fields = {}
            self.forms.append((attributes["action"], self._fields))
        elif self._fields is not None and "name" in attributes:
            kind = attributes.get("type", "text") if tag == "input" else tag
            self._fields[attributes["name"]] = (kind, attributes.get("value", ""))
            self._area = attributes["name"] if tag == "textarea" else None
            self._choice = attributes["name"] if tag == "select" else None
        elif self._fields is not None and tag == "option" and self._choice and "selected" in attributes:
            self._fields[self._choice] = ("select", attributes.get("value", ""))

    def handle_data(self, data: str) -> None:
        if self._fields is not None and self._area is not None:
            self._fields[self._area] = ("textarea", (self._fields[self._area][1] + data).removeprefix("\n"))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._fields = None
        elif tag == "textarea":
            self._area = None


def _kind(path: str) -> str:
    return re.sub(r"/[^/]*\d[^/]*", "/*", path)


async def _pages_with_forms(browser: Browser) -> dict[str, str]:
    """Return a page of each kind by path."""
    pages: dict[str, str] = {}
    waiting, kinds = [browser.root], set[str]()
    while waiting and len(pages) < PAGES:
        path = waiting.pop(0)
        if _kind(path) in kinds:
            continue
        kinds.add(_kind(path))
        page = await browser.client.get(path)
        pages[path] = page.text
        waiting += [urlsplit(link).path for link in Page(page.text).links if link.startswith(browser.root)]
    return pages


async def test_every_form_shows_its_error_and_keeps_its_input(browser: Browser) -> None:
    body = await browser.reset(scenario="vendor_onboarding", seed=3, chaos=0)
    tried: set[str] = set()
    for path, text in (await _pages_with_forms(browser)).items():
        for at, (action, fields) in enumerate(Forms(text).forms):
            written = {
                name for name, (kind, _) in fields.items() if kind in ("text", "textarea", "number", "date", "email")
            }
            if not written or action in tried:
                continue
            tried.add(action)
            sent = {name: TYPED if name in written else value for name, (_, value) in fields.items()}
            answer = await browser.client.post(action, data=sent)
            if answer.status_code < 400:  # a form with text fields only accepts any text
                continue
            assert answer.text.startswith("<!doctype html>")
            assert 'data-testid="problem" data-code="' in answer.text, (path, action)
            forms = Forms(answer.text).forms
            again = [kept for target, kept in forms if target == action and kept.get("_form") == fields.get("_form")]
            assert again, (path, action, at)
            kept = {name: again[0].get(name, ("", ""))[1] for name in written}
            assert kept == dict.fromkeys(written, TYPED), (path, action)
    assert len(tried) >= MIN_FORMS, sorted(tried)
    state = (await browser.client.get("/state", params={"episode_id": body["episode_id"]})).json()
    assert state["step_count"] == len(tried)
