"""Contract of pages: all are reachable by links, write nothing, escape text, and have a form of every write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from companyos_gateway.engine.toolbox import Tool
from companyos_shared.framework import Service
from companyos_shared.framework.testing import ServiceHarness
from tests.contract.calls import random_calls
from tests.contract.conftest import SERVICES
from tests.contract.crawler import crawl_pages, routes_of

CALLS = 120
"""Number of random writes before the crawl, so that every kind of row exists."""

REDIRECT = "/pages/open/{object_id}"
"""Redirects to the page of an object; only a gateway links to it."""

MIN_SHOWN = 5
PAGES_PER_KIND = 20
ANY_MEMBER = "*"
"""Place of an additional member of an object that accepts members of any name."""

Document = dict[str, Any]
Column = tuple[str, ...]


@pytest.fixture(params=[name for name, service in sorted(SERVICES.items()) if service.pages is not None])
def service(request: pytest.FixtureRequest) -> Service[Any]:
    return SERVICES[request.param]


def _columns(part: Any, place: Column = ()) -> Iterator[tuple[Column, str]]:
    """Yield every text of a document with its place; all items of a list have the same place."""
    if isinstance(part, dict):
        for name, value in part.items():
            yield from _columns(value, (*place, name))
        yield (*place, ANY_MEMBER), ""
    elif isinstance(part, list):
        for value in part:
            yield from _columns(value, place)
    elif isinstance(part, str):
        yield place, part


def _mutated(part: Any, mutated: dict[Column, str], place: Column = ()) -> Any:
    """Return the document with the texts of the given columns replaced."""
    if isinstance(part, dict):
        added = {text: "x" for one, text in mutated.items() if one == (*place, ANY_MEMBER)}
        return {name: _mutated(value, mutated, (*place, name)) for name, value in part.items()} | added
    if isinstance(part, list):
        return [_mutated(value, mutated, place) for value in part]
    return mutated.get(place, part) if isinstance(part, str) else part


def _fits(service: Service[Any], document: Document) -> bool:
    try:
        service.seed.model_validate(document)
    except ValidationError:
        return False
    return True


def _hostile(service: Service[Any]) -> tuple[Document, dict[Column, str]]:
    """Return the demo seed document with hostile text in every column that takes any text, and that text by column."""
    document = service.demo_seed().model_dump(mode="json")
    texts = dict.fromkeys(place for place, _ in _columns(document) if not re.search("(^|_)id$", place[-1]))
    payloads = {
        place: f"<script>alert('{number}')</script>\"'><img src=x onerror=alert(1)>{{{{ 7 * 7 }}}}"
        for number, place in enumerate(texts)
    }
    fitting = {place: text for place, text in payloads.items() if _fits(service, _mutated(document, {place: text}))}
    return _mutated(document, fitting), fitting


@pytest.mark.sample(1)
async def test_every_page_is_reachable_by_links_and_writes_nothing(harness: ServiceHarness, writes: list[Tool]) -> None:
    await random_calls(harness, writes, CALLS, "pages")
    before = await harness.evidence()
    crawl = await crawl_pages(harness)
    assert {route for route, _ in crawl.kinds} == {route.path for route in routes_of(harness.service)} - {REDIRECT}
    assert await harness.evidence() == before


@pytest.mark.sample(1)
async def test_every_page_has_unique_ids_and_loads_only_the_assets_of_its_service(harness: ServiceHarness) -> None:
    for page, shown in (await crawl_pages(harness, per_kind=PAGES_PER_KIND)).answers.items():
        assert "default-src 'none'" in shown.headers["Content-Security-Policy"]
        assert "http" not in shown.text
        assert not re.search(r"<[^>]+ (style|on\w+)=", shown.text), page
        ids = re.findall(r'\sid="([^"]*)"', shown.text)
        assert len(ids) == len(set(ids)), page
        assert set(re.findall(r'(?:for|aria-labelledby|aria-describedby)="([^" ]*)"', shown.text)) <= set(ids), page
        assets = set(re.findall(r'(?:src|href)="(/static[^"]*)"', shown.text))
        assert assets == {f"/static/pages/{name}" for name in ("pages.css", "lists.js", "pages.js", "icon.svg")}
        assert {(await harness.get(asset)).status_code for asset in assets} == {200}


@pytest.mark.sample(1)
async def test_every_tool_that_writes_has_a_form(harness: ServiceHarness, writes: list[Tool]) -> None:
    texts = [shown.text for shown in (await crawl_pages(harness, per_kind=PAGES_PER_KIND)).answers.values()]
    forms = {operation for text in texts for operation in re.findall(r'action="/pages/-/(\w+)"', text)}
    assert forms == {tool.operation.operation_id for tool in writes if tool.operation is not None}


@pytest.mark.sample(1)
async def test_hostile_text_is_shown_as_text(service: Service[Any], harness: ServiceHarness) -> None:
    document, payloads = _hostile(service)
    harmless = await crawl_pages(harness, per_kind=PAGES_PER_KIND)
    async with ServiceHarness(service, seed=service.seed.model_validate(document)) as mutated:
        crawl = await crawl_pages(mutated, per_kind=PAGES_PER_KIND)
    assert crawl.parts <= harmless.parts, "hostile text became an element or an attribute"
    assert {page.scripts for page in crawl.pages.values()} == {2}
    read = crawl.read
    assert sum(text in read for text in payloads.values()) >= MIN_SHOWN
