"""The pages of an episode's desk and apps in a browser window, with all requests of the window."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import httpx

from tests.ui.http_browser import as_shown


class EpisodePage:
    """A browser page that shows the desk and the apps of one episode."""

    def __init__(self, page: Any, url: str, **options: Any) -> None:
        self.page = page
        self.url = url
        self.requested: list[str] = []
        self.clicks = self.loads = self.fields = 0
        page.on("request", lambda request: self.requested.append(request.url))
        page.on("domcontentloaded", lambda _: self._count_load())
        answer = httpx.post(f"{url}/reset", json=options, timeout=30).json()
        self.episode_id: str = answer["episode_id"]
        self.brief: str = answer["observation"]["brief"]
        self.root = f"{url}/v1/episodes/{self.episode_id}/apps"
        self.open("")

    def open(self, path: str) -> None:
        """Open a page of the apps."""
        self.page.goto(f"{self.root}{path}")

    def capture(self) -> bytes:
        """Return a screenshot of the page as PNG, at the second attempt if Chromium refuses the first."""
        from playwright.sync_api import Error as PlaywrightError

        from companyos_gateway.browser.window import REFUSED_CAPTURE

        try:
            return bytes(self.page.screenshot())
        except PlaywrightError as error:
            if REFUSED_CAPTURE not in str(error):
                raise
            return bytes(self.page.screenshot())

    def _count_load(self) -> None:
        self.loads += 1

    def click(self, element: Any) -> None:
        """Click a link, a button or the summary of a collapsed section."""
        element.click()
        self.clicks += 1

    def follow(self, *paths: str) -> None:
        """Click the page's link to each of these paths of the apps in turn."""
        for path in paths:
            link = self.find_link(path)
            assert link is not None, f"{self.page.url} has no link to {path}"
            self.click(link)

    def find_link(self, path: str) -> Any | None:
        """Return the first visible link to a path of the apps, or None; for a policy, the version in force."""
        self.page.wait_for_load_state("domcontentloaded")
        root = self.root.removeprefix(self.url)
        targets = (f"{root}{path}", f"{root}/-/open?id={path.rpartition('/')[2]}")
        links = self.page.locator("a[href]:not(tr:has-text('Superseded') *)").filter(visible=True)
        hrefs = links.evaluate_all("links => links.map(one => one.getAttribute('href'))")
        at = next(
            (at for at, href in enumerate(hrefs) if href in targets or href.partition("?")[0] == targets[0]), None
        )
        return None if at is None else links.nth(at)

    def go_to(self, path: str) -> None:
        """Open a page like a person: by a link, by its ID, or by the menus."""
        app, _, rest = path.removeprefix("/").partition("/")
        place, _, name = rest.partition("/")
        if self.path == path:
            return
        if self.find_link(path) is not None:
            self.follow(path)
        elif re.fullmatch(r"[A-Z]+-\d+", name):
            self.page.get_by_label("Go to ID").fill(name)
            self.fields += 1
            self.click(self.page.get_by_role("button", name="Go", exact=True))
        else:
            menus = [f"/{app}/"] if not self.path.startswith(f"/{app}/") else []
            self.follow(*menus, *([f"/{app}/{place}", path] if name else []))

    def read_metric(self, subject: str) -> None:
        """Open the vendor whose page lists its metrics, or else the list of metrics of the subject."""
        if subject.startswith("VEN-"):
            self.go_to(f"/datahub/vendors/{subject}")
            return
        self.go_to("/datahub/")
        self.page.get_by_label("Subject").fill(subject)
        self.fields += 1
        self.click(self.page.get_by_role("button", name="Filter"))

    @property
    def path(self) -> str:
        """Return the path of the page within the apps."""
        return str(self.page.url).partition("#")[0].partition("?")[0].removeprefix(self.root)

    def wait(self, steps: int) -> None:
        """Take `wait` steps of one minute, each of which adds a page view."""
        action = {"tool_name": "wait", "arguments": {"minutes": 1}}
        for _ in range(steps):
            httpx.post(f"{self.url}/step", json={"episode_id": self.episode_id, "action": action}).raise_for_status()

    def text_of(self, testid: str) -> str:
        """Return the text of an element."""
        text: str = self.page.get_by_test_id(testid).first.inner_text()
        return text.strip()

    @property
    def now(self) -> datetime:
        """Return the simulated time of the page."""
        return datetime.fromisoformat(self.page.locator("header time").get_attribute("datetime"))

    @property
    def state(self) -> dict[str, Any]:
        """Return the state of the episode for the trainer."""
        state: dict[str, Any] = httpx.get(f"{self.url}/state", params={"episode_id": self.episode_id}).json()
        return state

    def fill_and_send(self, operation: str, arguments: Mapping[str, Any]) -> None:
        """Fill in the form of an operation and click its button."""
        form = self._form(operation, arguments)
        folded = form.locator("xpath=ancestor::details[not(@open)]")
        while folded.count():
            self.click(folded.first.locator("summary").first)
        for name, value in _flatten(arguments):
            field = form.locator(f'[name="{name}"], [name^="{name}:"]').first
            if field.get_attribute("type") == "hidden":
                continue
            if field.input_value() == as_shown(field.get_attribute("name") or "", value):
                continue
            self.fields += 1
            if field.evaluate("field => field.tagName") == "SELECT":
                field.select_option(as_shown(name, value) if isinstance(value, bool) else str(value))
            elif field.get_attribute("type") == "checkbox":
                for one in value:
                    form.locator(f'[name^="{name}:"][value="{one}"]').check()
            else:
                field.fill(as_shown(field.get_attribute("name") or "", value))
        for required in form.locator('input[type="checkbox"][required]').all():
            required.check()
        self.click(form.locator('button[type="submit"]'))

    def _form(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """Return the form of the operation whose hidden values match the arguments."""
        self.page.wait_for_load_state("domcontentloaded")
        forms = self.page.locator(f'form[action$="/-/{operation}"]')
        for at in range(forms.count()):
            form = forms.nth(at)
            fixed = form.evaluate(
                "form => [...form.querySelectorAll('input[type=hidden]')].map(one => [one.name, one.value])"
            )
            known = {name.partition(":")[0]: value for name, value in fixed if not name.startswith(("_", "if_match"))}
            named = form.evaluate("form => [...form.elements].map(one => one.name.split(':')[0])")
            expected = dict(_flatten(arguments))
            is_fixed = all(str(expected.get(name, value)) == value for name, value in known.items())
            if is_fixed and all(name in named for name in expected):
                return form
        raise AssertionError(f"{self.page.url} has no form for {operation} {dict(arguments)}")


def _flatten(arguments: Mapping[str, Any], outer: str = "") -> list[tuple[str, Any]]:
    """Return the arguments by field name, without `idempotency_key` and `if_match`, which the page sets."""
    fields: list[tuple[str, Any]] = []
    for name, value in arguments.items():
        if name in ("idempotency_key", "if_match") or value is None:
            continue
        fields += _flatten(value, f"{outer}{name}.") if isinstance(value, dict) else [(f"{outer}{name}", value)]
    return fields
