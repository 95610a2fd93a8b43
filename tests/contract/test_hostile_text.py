"""Pages show any text that a tool accepts as text, without additional elements or attributes and without loss."""

from __future__ import annotations

from typing import Any

import pytest

from companyos_gateway.engine.toolbox import Tool
from companyos_shared.framework import Service
from companyos_shared.framework.testing import ServiceHarness
from tests.contract.conftest import SERVICES
from tests.contract.crawler import Crawl, crawl_pages
from tests.contract.payload_injection import (
    ArgumentLocation,
    InjectedPayloads,
    inject_payloads,
    missing_places,
    schema_at,
    text_places,
)
from tests.payloads import EXECUTED, STARTED

CALLS, FULL_CALLS = 110, 1500
MIN_TAKEN, MIN_SHOWN = 3, 1
PAGES_PER_KIND, FULL_PAGES_PER_KIND = 2, 1000
MIN_SHARE = 0.5
"""Minimum share of the free-text places; the others need rows in a state that random calls do not reach."""

WORDS_CHARS = 200
"""Minimum length of free-text places; shorter ones may contain the id of an existing row."""


@pytest.fixture(params=[name for name, service in sorted(SERVICES.items()) if service.pages is not None])
def service(request: pytest.FixtureRequest) -> Service[Any]:
    return SERVICES[request.param]


@pytest.mark.sample(1)
async def test_arguments_of_tools_are_shown_as_text(harness: ServiceHarness, writes: list[Tool]) -> None:
    injected = await inject_payloads(harness, writes, calls=CALLS, hostile=True)
    assert len(injected.texts) >= MIN_TAKEN, missing_places(injected)
    crawl = await crawl_pages(harness, per_kind=PAGES_PER_KIND)
    assert _marks(crawl, injected) >= MIN_SHOWN
    _check_text(crawl, injected)
    assert not {tag for tag, _ in crawl.parts} & EXECUTED
    assert not {name for _, name in crawl.parts if name.startswith("on")} | (
        {name for _, name in crawl.parts} & STARTED
    )
    assert {page.scripts for page in crawl.pages.values()} == {2}


@pytest.mark.slow
@pytest.mark.timeout(1800)
async def test_every_payload_in_every_argument_is_shown_as_text(
    service: Service[Any], harness: ServiceHarness, writes: list[Tool]
) -> None:
    injected = await inject_payloads(harness, writes, calls=FULL_CALLS, hostile=True)
    words = _for_words(writes)
    assert len(words & injected.taken) >= MIN_SHARE * len(words), missing_places(injected)
    crawl = await crawl_pages(harness, per_kind=FULL_PAGES_PER_KIND)
    async with ServiceHarness(service) as other:
        await inject_payloads(other, writes, calls=FULL_CALLS, hostile=False)
        harmless = await crawl_pages(other, per_kind=FULL_PAGES_PER_KIND)
    _check_text(crawl, injected)
    assert crawl.parts <= harmless.parts, "hostile text became an element or an attribute"
    assert {page.scripts for page in crawl.pages.values()} == {2}
    assert _marks(crawl, injected) >= len(injected.texts) // 4


def _check_text(crawl: Crawl, injected: InjectedPayloads) -> None:
    """Check that each injected text on a page is complete and unchanged, except for NUL, which HTML does not allow."""
    texts = {mark: whole.replace("\0", "\ufffd") for mark, whole in injected.texts.items()}
    for path, page in crawl.pages.items():
        for text in page.read:
            for mark, whole in texts.items():
                at = text.find(mark)
                assert at < 0 or text[at : at + len(whole)] == whole, f"{path}: {text[at:]!r} is not {whole!r}"


def _marks(crawl: Crawl, injected: InjectedPayloads) -> int:
    """Return the number of injected texts that some page shows."""
    read = crawl.read
    return sum(mark in read for mark in injected.texts)


def _for_words(tools: list[Tool]) -> set[tuple[str, ArgumentLocation]]:
    """Return the free-text places."""
    found = [(tool, place) for tool in tools for place in text_places(tool.input_schema)]
    schemas = {(tool.name, place): schema_at(tool.input_schema, place) for tool, place in found}
    return {
        at for at, schema in schemas.items() if "pattern" not in schema and schema.get("maxLength", 0) >= WORDS_CHARS
    }
