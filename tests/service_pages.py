"""A browser of the pages of a standalone service."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from companyos_shared.framework import Service, ServiceSettings, create_app

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 7 * 7 }}"


class PageBrowser(httpx.AsyncClient):
    """A client of a service, with the checks that the pages of all services share."""

    async def submit(self, operation: str, page: str, **fields: str) -> httpx.Response:
        """Submit a form of a page."""
        return await self.post(f"/pages/-/{operation}", data={"_form": operation, "_page": page, **fields})

    async def open_next(self, text: str) -> str:
        """Return the text of the page that continues a list."""
        link = text.split('data-testid="next-page"')[0].rpartition('href="')[2].partition('"')[0]
        return (await self.get(link.replace("&amp;", "&"))).text

    async def check_pages(self, pages: Iterable[str]) -> None:
        """Check that pages load no external resources, have no inline handlers, and refer to unique ids."""
        for page in pages:
            shown = await self.get(f"/pages/{page}")
            assert shown.status_code == 200, page
            assert "default-src 'none'" in shown.headers["Content-Security-Policy"]
            assert "http" not in shown.text
            assert not re.search(r"<[^>]+ (style|on\w+)=", shown.text), page
            ids = re.findall(r'\sid="([^"]*)"', shown.text)
            assert len(ids) == len(set(ids)), page
            assert set(re.findall(r'(?:for|aria-labelledby|aria-describedby)="([^" ]*)"', shown.text)) <= set(ids), page
            assets = set(re.findall(r'(?:src|href)="(/static[^"]*)"', shown.text))
            assert assets == {f"/static/pages/{name}" for name in ("pages.css", "lists.js", "pages.js", "icon.svg")}
            assert {(await self.get(asset)).status_code for asset in assets} == {200}

    async def check_forms(self, pages: Iterable[str]) -> None:
        """Check that the pages have a form of every tool that writes."""
        paths = (await self.get("/openapi.json")).json()["paths"].values()
        writes = {operation["operationId"] for item in paths for method, operation in item.items() if method != "get"}
        texts = [(await self.get(f"/pages/{page}")).text for page in pages]
        assert {operation for text in texts for operation in re.findall(r'action="/pages/-/(\w+)"', text)} == writes

    async def check_errors(self, *errors: tuple[str, int, str]) -> None:
        """Check the status and the code of pages that cannot be shown."""
        for page, status, code in errors:
            shown = await self.get(f"/pages/{page}")
            assert shown.status_code == status, page
            assert f"<code>{code}</code>" in shown.text

    async def check_hostile_text(self, pages: Iterable[str]) -> None:
        """Check that each page shows HOSTILE as text."""
        for page in pages:
            text = (await self.get(f"/pages/{page}")).text
            assert "<script>alert" not in text, page
            assert "<img src=x" not in text, page
            assert "{{ 7 * 7 }}" in text, page


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
