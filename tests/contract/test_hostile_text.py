"""Pages show any text that a tool accepts as text, without additional elements or attributes and without loss."""

from __future__ import annotations

from typing import Any

import pytest

from companyos_gateway.engine.toolbox import Tool
from companyos_shared.framework import Service
from companyos_shared.framework.testing import ServiceHarness
from tests.contract.conftest import SERVICES
from tests.contract.planting import ArgumentLocation, Planted, missing_places, plant, schema_at, text_places
from tests.contract.walking import Walk, walk_pages
from tests.payloads import EXECUTED, STARTED

CALLS, FULL_CALLS = 110, 1500
LEAST_TAKEN, LEAST_SHOWN = 3, 1
ALIKE, FULL_ALIKE = 2, 1000
LEAST_SHARE = 0.5
"""Minimum share of the free-text places; the others need rows in a state that random calls do not reach."""

WORDS_CHARS = 200
"""Minimum length of free-text places; shorter ones may contain the id of an existing row."""


@pytest.fixture(params=[name for name, service in sorted(SERVICES.items()) if service.pages is not None])
def service(request: pytest.FixtureRequest) -> Service[Any]:
    return SERVICES[request.param]


@pytest.fixture
def writes(tools: list[Tool]) -> list[Tool]:
    return [tool for tool in tools if tool.operation is not None and not tool.operation.is_read]


async def test_what_tools_take_is_shown_as_text(harness: ServiceHarness, writes: list[Tool]) -> None:
    planted = await plant(harness, writes, calls=CALLS, hostile=True)
    assert len(planted.texts) >= LEAST_TAKEN, missing_places(planted)
    walk = await walk_pages(harness, alike=ALIKE)
    assert _marks(walk, planted) >= LEAST_SHOWN
    _check_text(walk, planted)
    assert not {tag for tag, _ in walk.parts} & EXECUTED
    assert not {name for _, name in walk.parts if name.startswith("on")} | ({name for _, name in walk.parts} & STARTED)
    assert {page.scripts for page in walk.pages.values()} == {2}


@pytest.mark.slow
@pytest.mark.timeout(1800)
async def test_every_payload_in_every_place_is_shown_as_text(
    service: Service[Any], harness: ServiceHarness, writes: list[Tool]
) -> None:
    planted = await plant(harness, writes, calls=FULL_CALLS, hostile=True)
    words = _for_words(writes)
    assert len(words & planted.taken) >= LEAST_SHARE * len(words), missing_places(planted)
    walk = await walk_pages(harness, alike=FULL_ALIKE)
    async with ServiceHarness(service) as other:
        await plant(other, writes, calls=FULL_CALLS, hostile=False)
        harmless = await walk_pages(other, alike=FULL_ALIKE)
    _check_text(walk, planted)
    assert walk.parts <= harmless.parts, "hostile text became an element or an attribute"
    assert {page.scripts for page in walk.pages.values()} == {2}
    assert _marks(walk, planted) >= len(planted.texts) // 4


def _check_text(walk: Walk, planted: Planted) -> None:
    """Check that each planted text on a page is complete and unchanged, except for NUL, which HTML does not allow."""
    texts = {mark: whole.replace("\0", "\ufffd") for mark, whole in planted.texts.items()}
    for way, page in walk.pages.items():
        for text in page.read:
            for mark, whole in texts.items():
                at = text.find(mark)
                assert at < 0 or text[at : at + len(whole)] == whole, f"{way}: {text[at:]!r} is not {whole!r}"


def _marks(walk: Walk, planted: Planted) -> int:
    """Return the number of planted texts that some page shows."""
    read = walk.read
    return sum(mark in read for mark in planted.texts)


def _for_words(tools: list[Tool]) -> set[tuple[str, ArgumentLocation]]:
    """Return the free-text places."""
    found = [(tool, place) for tool in tools for place in text_places(tool.input_schema)]
    schemas = {(tool.name, place): schema_at(tool.input_schema, place) for tool, place in found}
    return {
        at for at, schema in schemas.items() if "pattern" not in schema and schema.get("maxLength", 0) >= WORDS_CHARS
    }
