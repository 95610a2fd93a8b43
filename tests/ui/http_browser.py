"""A minimal browser over HTTP that opens pages, fills in forms and submits them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import httpx


@dataclass
class Form:
    """A form of a page with its values."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)


class _Forms(HTMLParser):
    """Parser that collects the forms of a page by test id."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: dict[str, Form] = {}
        self._form: Form | None = None
        self._select: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._form = Form(attributes.get("action", ""))
            self.forms[attributes.get("data-testid", "")] = self._form
        elif self._form is not None and tag in ("input", "textarea"):
            self._form.fields[attributes["name"]] = attributes.get("value", "")
        elif self._form is not None and tag == "select":
            self._select = attributes["name"]
            self._form.fields[attributes["name"]] = ""
        elif self._form is not None and self._select and tag == "option" and "selected" in attributes:
            self._form.fields[self._select] = attributes["value"]

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "select":
            self._select = None


@dataclass
class Browser:
    """The browser of one visitor."""

    client: httpx.AsyncClient
    root: str = ""
    page: httpx.Response = field(default_factory=lambda: httpx.Response(200))
    app: Any = None
    """The ASGI app of the gateway, for streams."""
    drain: Any = None
    """Starts the shutdown of the gateway."""

    async def reset(self, **options: Any) -> dict[str, Any]:
        """Start an episode and open its desk, with the episode token if there is one."""
        headers = {"Authorization": f"Bearer {options.pop('trainer')}"} if "trainer" in options else {}
        answer = await self.client.post("/reset", json=options, headers=headers)
        assert answer.status_code == 200, answer.text
        body: dict[str, Any] = answer.json()
        self.root = f"/v1/episodes/{body['episode_id']}/apps"
        if body.get("token") and headers:
            await self.open(f"?token={body['token']}")
        else:
            await self.open("")
        return body

    async def open(self, path: str) -> httpx.Response:
        """Open a page of the episode's apps."""
        self.page = await self.client.get(f"{self.root}{path}")
        return self.page

    async def submit(self, form: str, **fields: str) -> httpx.Response:
        """Fill in a form of the page and submit it."""
        parser = _Forms()
        parser.feed(self.page.text)
        target = parser.forms[form]
        named = {name.replace("__", ":").replace("_dot_", "."): value for name, value in fields.items()}
        assert set(named) <= set(target.fields), target.fields
        self.page = await self.client.post(target.action, data={**target.fields, **named})
        return self.page

    def text_of(self, testid: str) -> str:
        """Return the text of an element of the page."""
        match = re.search(
            rf'data-testid="{re.escape(testid)}"[^>]*>(.*?)</(?:dd|div|p|h1|h2|span)>', self.page.text, re.S
        )
        assert match is not None, self.page.text[:3000]
        return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", match[1])).strip()

    def now(self) -> str:
        """Return the simulated time that the page shows."""
        return self.page.text.partition('<time datetime="')[2].partition('"')[0]

    def code(self) -> str | None:
        """Return the code of the Problem on the page."""
        match = re.search(r'data-testid="problem" data-code="([^"]+)"', self.page.text)
        return None if match is None else match[1]
