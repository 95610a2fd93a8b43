"""Every form of every page shows its errors and keeps its input."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from tests.contract.crawler import Page
from tests.ui.http_browser import Browser, Form, forms_of

TYPED = "<typed> & \"kept\" 'so'"
PAGES = 80
MIN_FORMS = 12


def is_same(one: Form, other: Form) -> bool:
    return (one.action, one.fields.get("_form")) == (other.action, other.fields.get("_form"))


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
        for form in forms_of(text):
            if form.method != "post" or not form.texts or form.action in tried:
                continue
            tried.add(form.action)
            typed = dict.fromkeys(form.texts, TYPED)
            answer = await browser.client.post(form.action, data=form.fields | typed)
            if answer.status_code < 400:  # a form with text fields only accepts any text
                continue
            assert answer.text.startswith("<!doctype html>")
            assert 'data-testid="problem" data-code="' in answer.text, (path, form.action)
            again = next(one for one in forms_of(answer.text) if is_same(one, form))
            assert {name: again.fields.get(name) for name in typed} == typed, (path, form.action)
    assert len(tried) >= MIN_FORMS, sorted(tried)
    state = (await browser.client.get("/state", params={"episode_id": body["episode_id"]})).json()
    assert state["step_count"] == len(tried)
