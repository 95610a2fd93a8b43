"""A minimal browser over HTTP that opens pages, fills in forms and submits them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from html.parser import HTMLParser
from typing import Any

import httpx

from companyos_shared.choices import is_choice
from companyos_shared.pages.rendering import label
from companyos_shared.pages.values import day, figure, moment, money

_FORM_PATHS = {
    "ticketdesk": "tickets/{key}",
    "ticketdesk_create_ticket": "new",
    "datahub_refresh_metric": "metrics/{metric_id}",
    "datahub_update_record": "records/{record_id}",
    "datahub_update_vendor": "vendors/{vendor_id}",
    "datahub_report_data_issue": "report",
    "approvalflow": "requests/{request_id}",
    "approvalflow_submit_approval": "submit/{type_key}",
    "approvalflow_create_delegation": "delegations",
    "approvalflow_revoke_delegation": "delegations",
}
"""Pages with the form of a tool, by tool or by service."""


def form_path(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the path of the page with the form of a call, within the episode's apps."""
    service = tool.partition("_")[0]
    page = _FORM_PATHS.get(tool) or _FORM_PATHS[service]
    return f"/{service}/{page.format(**arguments)}"


def as_shown(argument: str, value: Any) -> str:
    """Return the text of a value on pages."""
    name, _, kind = argument.partition(":")
    if kind == "cents":
        return f"{money(value)} EUR"
    if kind == "moment":
        return moment(datetime.fromisoformat(value))
    if kind == "date":
        return day(date.fromisoformat(value))
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, int | float):
        return figure(value) if isinstance(value, float) else str(value)
    if kind == "pairs":
        return "\n".join(f"{one} = {as_shown('', given)}" for one, given in value.items())
    if isinstance(value, list):
        return ", ".join(value)
    is_label = is_choice(value) and name.startswith("fields.")
    return label(value) if is_label else str(value)


@dataclass
class Form:
    """A form of a page with its values."""

    action: str
    testid: str = ""
    method: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    """Values by name; required checkboxes are ticked."""

    hidden: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    """Names of the fields for text, numbers and dates."""

    options: dict[str, set[str]] = field(default_factory=dict)
    """Values of the options of each selection."""


class _FormParser(HTMLParser):
    """Parser that collects the forms of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._form: Form | None = None
        self._select: str | None = None
        self._area: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "form":
            action, testid, method = (attributes.get(name, "") for name in ("action", "data-testid", "method"))
            self._form = Form(action, testid, method)
            self.forms.append(self._form)
        elif self._form is None:
            return
        elif attributes.get("type") == "checkbox":
            self._form.options.setdefault(attributes["name"], set()).add(attributes["value"])
            if "required" in attributes:
                self._form.fields[attributes["name"]] = attributes["value"]
        elif tag in ("input", "textarea"):
            self._form.fields[attributes["name"]] = attributes.get("value", "")
            (self._form.hidden if attributes.get("type") == "hidden" else self._form.texts).add(attributes["name"])
            self._area = attributes["name"] if tag == "textarea" else None
        elif tag == "select":
            self._select = attributes["name"]
            self._form.fields[self._select] = ""
            self._form.options[self._select] = set()
        elif self._select and tag == "option":
            self._form.options[self._select].add(attributes["value"])
            if "selected" in attributes:
                self._form.fields[self._select] = attributes["value"]

    def handle_data(self, data: str) -> None:
        if self._form is not None and self._area is not None:
            self._form.fields[self._area] += data.removeprefix("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "select":
            self._select = None
        elif tag == "textarea":
            self._area = None


def forms_of(text: str) -> list[Form]:
    """Return the forms of a page."""
    return _FormParser(text).forms


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
        [target] = [one for one in forms_of(self.page.text) if one.testid == form]
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
