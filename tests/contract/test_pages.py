"""What every service with pages owes: its pages are reached by links, write nothing and show text as text."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from fastapi.routing import APIRoute
from pydantic import ValidationError

from companyos_gateway.episode.toolbox import Tool
from companyos_shared.chassis import Service
from companyos_shared.chassis.pages import PAGES_PREFIX
from companyos_shared.chassis.testing import ServiceHarness
from tests.contract.calls import wander
from tests.contract.conftest import SERVICES

CALLS = 120
"""Random writes before the walk, so that there is something of every kind."""

ALIKE = 2
"""Pages of a kind that are opened: months follow on months, and rows on rows."""
LEAST_SHOWN = 5

Document = dict[str, Any]
Column = tuple[str, ...]


class _Page(HTMLParser):
    """A page as a browser takes it: its elements with their attributes, the ways that it leads, what can be read."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.parts: set[tuple[str, str]] = set()
        self.links: list[str] = []
        self.scripts = 0
        self.read: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.parts |= {(tag, name) for name, _ in attrs} | {(tag, "")}
        self.scripts += tag == "script"
        given = dict(attrs)
        self.read += [given[name] or "" for name in ("value", "aria-label") if name in given]
        way = given.get("href") if tag == "a" else None
        if way is not None:
            self.links.append(way)

    def handle_data(self, data: str) -> None:
        self.read.append(data)


@dataclass
class Walk:
    """What was seen on a walk along the links."""

    kinds: Counter[tuple[str, tuple[str, ...]]] = field(default_factory=Counter)
    pages: dict[str, _Page] = field(default_factory=dict)

    @property
    def parts(self) -> set[tuple[str, str]]:
        """Elements and attributes of all pages."""
        return set().union(*(page.parts for page in self.pages.values()))

    @property
    def read(self) -> str:
        """What can be read on all pages."""
        return "\n".join(text for page in self.pages.values() for text in page.read)


@pytest.fixture(params=[name for name, service in sorted(SERVICES.items()) if service.pages is not None])
def service(request: pytest.FixtureRequest) -> Service[Any]:
    return SERVICES[request.param]


def _routes(service: Service[Any]) -> list[APIRoute]:
    assert service.pages is not None
    return [route for route in service.pages.router.routes if isinstance(route, APIRoute)]


async def _walk(harness: ServiceHarness) -> Walk:
    """Open what the pages lead to, each kind of page a few times, and expect an answer of 200 from all."""
    walk, waiting, known = Walk(), deque([f"{PAGES_PREFIX}/"]), {f"{PAGES_PREFIX}/"}
    routes = _routes(harness.service)
    while waiting:
        way = waiting.popleft()
        asked = urlsplit(way)
        route = next((route.path for route in routes if route.path_regex.match(asked.path)), None)
        assert route is not None, f"{way} is no page"
        kind = route, tuple(sorted(name for name, _ in parse_qsl(asked.query)))
        if walk.kinds[kind] == ALIKE:
            continue
        walk.kinds[kind] += 1
        answer = await harness.get(way)
        assert answer.status_code == 200, way
        walk.pages[way] = _Page(answer.text)
        for link in walk.pages[way].links:
            if not link.startswith("#") and link not in known:
                assert link.startswith(PAGES_PREFIX), f"{way} leads out of the app to {link}"
                known.add(link)
                waiting.append(link)
    return walk


def _columns(part: Any, place: Column = ()) -> Iterator[tuple[Column, str]]:
    """Yield every text of a document with its place, rows of a list taken as one."""
    if isinstance(part, dict):
        for name, value in part.items():
            yield from _columns(value, (*place, name))
    elif isinstance(part, list):
        for value in part:
            yield from _columns(value, place)
    elif isinstance(part, str):
        yield place, part


def _bent(part: Any, bent: dict[Column, str], place: Column = ()) -> Any:
    """Return the document with the texts of those columns replaced."""
    if isinstance(part, dict):
        return {name: _bent(value, bent, (*place, name)) for name, value in part.items()}
    if isinstance(part, list):
        return [_bent(value, bent, place) for value in part]
    return bent.get(place, part) if isinstance(part, str) else part


def _fits(service: Service[Any], document: Document) -> bool:
    try:
        service.seed.model_validate(document)
    except ValidationError:
        return False
    return True


def _hostile(service: Service[Any]) -> tuple[Document, dict[Column, str]]:
    """Return the demo with hostile text in every column that holds words, and that text by column."""
    document = service.demo_seed().model_dump(mode="json")
    worded = dict.fromkeys(place for place, text in _columns(document) if " " in text)
    payloads = {
        place: f"<script>alert('{number}')</script>\"'><img src=x onerror=alert(1)>{{{{ 7 * 7 }}}}"
        for number, place in enumerate(worded)
    }
    fitting = {place: text for place, text in payloads.items() if _fits(service, _bent(document, {place: text}))}
    return _bent(document, fitting), fitting


async def test_every_page_is_reached_by_links_and_writes_nothing(harness: ServiceHarness, tools: list[Tool]) -> None:
    writes = [tool for tool in tools if tool.operation is not None and not tool.operation.is_read]
    await wander(harness, writes, CALLS, "pages")
    before = await harness.evidence()
    walk = await _walk(harness)
    assert {route for route, _ in walk.kinds} == {route.path for route in _routes(harness.service)}
    assert await harness.evidence() == before


async def test_hostile_text_is_shown_as_text(service: Service[Any], harness: ServiceHarness) -> None:
    document, payloads = _hostile(service)
    harmless = await _walk(harness)
    async with ServiceHarness(service, seed=service.seed.model_validate(document)) as bent:
        walk = await _walk(bent)
    assert walk.parts <= harmless.parts, "hostile text became an element or an attribute"
    assert {page.scripts for page in walk.pages.values()} == {1}
    read = walk.read
    assert sum(text in read for text in payloads.values()) >= LEAST_SHOWN
