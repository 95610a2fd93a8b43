"""A browser of the pages of a standalone service."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from companyos_shared.framework import Service, ServiceSettings, create_app

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 7 * 7 }}"
VIEW = r'href="([^"]*)"(?: aria-current="page")? data-testid="view-(\w+)"'
"""Matches the link of a view, with its address and its name."""


class PageBrowser(httpx.AsyncClient):
    """A client of a service, with the checks that the pages of all services share."""

    async def submit(self, operation: str, page: str, **fields: str) -> httpx.Response:
        """Submit a form of a page."""
        return await self.post(f"/pages/-/{operation}", data={"_form": operation, "_page": page, **fields})

    async def rows_of_two_pages(self, page: str = "", **query: str) -> tuple[list[str], list[str]]:
        """Return the rows of a full page of a list, and those of the page that continues it."""
        text = (await self.get(f"/pages/{page}", params=query)).text
        link = text.split('data-testid="next-page"')[0].rpartition('href="')[2].partition('"')[0]
        first, second = rows_of(text), rows_of((await self.get(link.replace("&amp;", "&"))).text)
        assert len(first) == 20
        assert second
        assert not set(first) & set(second)
        return first, second

    async def check_views(self, tool: str, key: str, names: list[str]) -> None:
        """Check that each view of the first page lists the rows of the tool and is marked."""
        views = re.findall(VIEW, (await self.get("/pages/")).text)
        assert [name for _, name in views] == names
        for link, name in views:
            path = link.replace("&amp;", "&")
            shown = (await self.get(path)).text
            listed = (await self.get(f"/{tool}?limit=20&{urlsplit(path).query}")).json()
            assert rows_of(shown) == [row[key] for row in listed["items"]], name
            assert f'data-testid="count">{listed["total"]}<' in shown
            assert re.findall(r'aria-current="page" data-testid="view-(\w+)"', shown) == [name]

    async def check_errors(self, *errors: tuple[str, int, str]) -> None:
        """Check the status and the code of pages that cannot be shown."""
        for page, status, code in errors:
            shown = await self.get(f"/pages/{page}")
            assert shown.status_code == status, page
            assert f"<code>{code}</code>" in shown.text


@asynccontextmanager
async def browse(service: Service[Any], folder: Path) -> AsyncIterator[PageBrowser]:
    """Start a standalone service and open a browser that follows redirects."""
    app = create_app(service, ServiceSettings(service_key=None, service_key_file=None, data_dir=folder))
    transport = httpx.ASGITransport(app)
    async with PageBrowser(transport=transport, base_url="http://service", follow_redirects=True) as browser:
        yield browser
    app.state.episodes.close()


def rows_of(text: str) -> list[str]:
    """Return the ids of the rows that a page lists."""
    return [part.partition('"')[0] for part in text.split('data-testid="row-')[1:]]
