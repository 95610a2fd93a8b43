"""Every form of every page: what is refused is said on the form, and nothing that was typed is lost."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urlsplit

from tests.contract.walking import Page
from tests.ui.http_browser import Browser

TYPED = "<typed> & \"kept\" 'so'"
PAGES = 80
LEAST_FORMS = 12


class Forms(HTMLParser):
    """The forms of a page: where each goes, and what stands in its fields by name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, tuple[str, str]]]] = []
        self._fields: dict[str, tuple[str, str]] | None = None
        self._area: str | None = None
        self._choice: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form" and given.get("method") == "post":
            self._fields = {}
            self.found.append((given["action"], self._fields))
        elif self._fields is not None and "name" in given:
            kind = given.get("type", "text") if tag == "input" else tag
            self._fields[given["name"]] = (kind, given.get("value", ""))
            self._area = given["name"] if tag == "textarea" else None
            self._choice = given["name"] if tag == "select" else None
        elif self._fields is not None and tag == "option" and self._choice and "selected" in given:
            self._fields[self._choice] = ("select", given.get("value", ""))

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
    """Return a page of every kind by its path."""
    found: dict[str, str] = {}
    waiting, kinds = [browser.root], set[str]()
    while waiting and len(found) < PAGES:
        path = waiting.pop(0)
        if _kind(path) in kinds:
            continue
        kinds.add(_kind(path))
        page = await browser.client.get(path)
        found[path] = page.text
        waiting += [urlsplit(link).path for link in Page(page.text).links if link.startswith(browser.root)]
    return found


async def test_every_form_says_what_is_refused_and_keeps_what_was_typed(browser: Browser) -> None:
    body = await browser.reset(scenario="vendor_onboarding", seed=3, chaos=0)
    tried: set[str] = set()
    for path, text in (await _pages_with_forms(browser)).items():
        for at, (action, fields) in enumerate(Forms(text).found):
            written = {
                name for name, (kind, _) in fields.items() if kind in ("text", "textarea", "number", "date", "email")
            }
            if not written or action in tried:
                continue
            tried.add(action)
            sent = {name: TYPED if name in written else value for name, (_, value) in fields.items()}
            answer = await browser.client.post(action, data=sent)
            if answer.status_code < 400:  # a form for words alone takes them
                continue
            assert answer.text.startswith("<!doctype html>")
            assert 'data-testid="problem" data-code="' in answer.text, (path, action)
            found = Forms(answer.text).found
            again = [kept for way, kept in found if way == action and kept.get("_form") == fields.get("_form")]
            assert again, (path, action, at)
            kept = {name: again[0].get(name, ("", ""))[1] for name in written}
            assert kept == dict.fromkeys(written, TYPED), (path, action)
    assert len(tried) >= LEAST_FORMS, sorted(tried)
    state = (await browser.client.get("/state", params={"episode_id": body["episode_id"]})).json()
    assert state["step_count"] == len(tried)
