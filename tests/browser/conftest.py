"""Fixtures: a real Chromium and a real gateway with services (`make browser`)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from companyos.enterprise import Enterprise
from tests.browser.episode_page import EpisodePage
from tests.gateway.conftest import open_gateway

__all__ = ["open_gateway"]

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-partial-raster",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-sync",
]
WIDE, NARROW = 1280, 390
PATIENCE_MS = 30_000


def expect(locator: Any) -> Any:
    """Return Playwright's assertions about an element. They wait until they hold, because scripts render the pages."""
    from playwright.sync_api import expect as assertions

    assertions.set_options(timeout=PATIENCE_MS)
    return assertions(locator)


@pytest.fixture(scope="session")
def enterprise() -> Iterator[str]:
    """Start a gateway and its services in four processes and provide its URL."""
    with Enterprise(alone=True) as opened:
        yield opened.url


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Provide a headless Chromium. Without one, these tests fail instead of being skipped.

    One for each module: as long as it is open, an event loop runs in this thread, and no asynchronous test can.
    """
    from playwright.sync_api import sync_playwright

    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if path is None:
        pytest.fail(f"no Chromium is on the path ({', '.join(CHROMIUMS)}); CHROMIUM=/path/to/it names one")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Any, enterprise: str) -> Iterator[Any]:
    """Return a function that opens the desk of a new episode in a new window."""
    opened = []

    def open_desk(*, javascript: bool = True, width: int = WIDE, **options: Any) -> EpisodePage:
        context = chromium.new_context(java_script_enabled=javascript, viewport={"width": width, "height": 900})
        opened.append(context)
        return EpisodePage(context.new_page(), enterprise, **options)

    yield open_desk
    for context in opened:
        context.close()


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    """Provide a window that records errors."""
    context = chromium.new_context(viewport={"width": WIDE, "height": 900})
    opened = context.new_page()
    opened.troubles = []
    opened.on("console", lambda line: opened.troubles.append(line.text) if line.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: opened.troubles.append(str(error)))
    yield opened
    assert opened.troubles == []
    context.close()
