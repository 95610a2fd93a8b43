"""Crawler for the pages of a service."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
from fastapi.routing import APIRoute

from companyos_shared.framework import Service
from companyos_shared.framework.pages import PAGES_PREFIX
from companyos_shared.framework.testing import ServiceHarness

PAGES_PER_KIND = 2
"""Maximum number of opened pages of a kind: months link to further months, and rows to further rows."""


class Page(HTMLParser):
    """A page parsed like in a browser: its elements with attributes, its links, and its readable text."""

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
        self.read += [value for name, value in attrs if value and name not in ("href", "action")]
        path = given.get("href") if tag == "a" else None
        if path is not None:
            self.links.append(path)

    def handle_data(self, data: str) -> None:
        self.read.append(data)


@dataclass
class Crawl:
    """The pages that a crawl visited."""

    kinds: Counter[tuple[str, tuple[str, ...]]] = field(default_factory=Counter)
    answers: dict[str, httpx.Response] = field(default_factory=dict)
    pages: dict[str, Page] = field(default_factory=dict)

    @property
    def parts(self) -> set[tuple[str, str]]:
        """Elements and attributes of all pages."""
        return set().union(*(page.parts for page in self.pages.values()))

    @property
    def read(self) -> str:
        """The text of all pages."""
        return "\n".join(text for page in self.pages.values() for text in page.read)


def routes_of(service: Service[Any]) -> list[APIRoute]:
    """Return the page routes of a service."""
    assert service.pages is not None
    return [route for route in service.pages.router.routes if isinstance(route, APIRoute)]


async def crawl_pages(harness: ServiceHarness, *, per_kind: int = PAGES_PER_KIND) -> Crawl:
    """Crawl the linked pages, a few of each kind, and check that all of them return 200."""
    crawl, waiting, known = Crawl(), deque([f"{PAGES_PREFIX}/"]), {f"{PAGES_PREFIX}/"}
    routes = routes_of(harness.service)
    while waiting:
        path = waiting.popleft()
        target = urlsplit(path)
        route = next((route.path for route in routes if route.path_regex.match(target.path)), None)
        assert route is not None, f"{path} must be a page"
        kind = route, tuple(sorted(name for name, _ in parse_qsl(target.query)))
        if crawl.kinds[kind] == per_kind:
            continue
        crawl.kinds[kind] += 1
        answer = await harness.get(path)
        assert answer.status_code == 200, path
        crawl.answers[path] = answer
        crawl.pages[path] = Page(answer.text)
        for link in crawl.pages[path].links:
            if not link.startswith("#") and link not in known:
                assert link.startswith(PAGES_PREFIX), f"{path} links outside of the app to {link}"
                known.add(link)
                waiting.append(link)
    return crawl
