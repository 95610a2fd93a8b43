"""First paint and weight of pages in Chromium: `python -m verification.benchmarks.pages [--rounds 5]`.

Each load is in a new window without a cache. The weight is what is transferred: the page with its
styles, scripts and icons.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from statistics import median
from typing import Any

import httpx
from playwright.sync_api import Page, ViewportSize, sync_playwright

from companyos.cli.terminal import OUT, plain_table
from companyos.enterprise import Enterprise
from companyos_gateway.browser.chromium_path import find_chromium

TASK: dict[str, Any] = {"scenario": "vendor_onboarding", "seed": 7, "chaos": 1}
SITE = ("/", "/console", "/console/scenarios", "/console/scenarios/vendor_onboarding")
APPS = (
    "",
    "/ticketdesk/",
    "/ticketdesk/board",
    "/ticketdesk/new",
    "/datahub/",
    "/datahub/vendors",
    "/datahub/records",
    "/datahub/policies",
    "/datahub/organisation",
    "/approvalflow/",
    "/approvalflow/types",
    "/approvalflow/submit",
)
LISTS = ("/ticketdesk/", "/datahub/vendors", "/datahub/", "/approvalflow/requests")
"""Lists whose first object is opened as well."""

WINDOW: ViewportSize = {"width": 1280, "height": 800}
FLAGS = ["--no-sandbox", "--disable-gpu"]
_MEASURED = """() => {
  const loaded = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  return [paint ? paint.startTime : null, loaded.reduce((sum, one) => sum + one.transferSize, 0)];
}"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m verification.benchmarks.pages", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="loads of each page (default: 5)")
    rounds: int = parser.parse_args().rounds
    table = plain_table(f"{rounds} loads; load {os.getloadavg()[0]:.1f} before, on {os.cpu_count()} cores")
    for column in ("page", "first paint, p50, ms", "KB"):
        table.add_column(column, justify="left" if column == "page" else "right")
    with Enterprise(alone=True) as enterprise, sync_playwright() as playwright:
        configured = os.environ.get("COMPANYOS_CHROMIUM")
        chromium = find_chromium(Path(configured) if configured else None, Path(playwright.chromium.executable_path))
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        paints: dict[str, list[float]] = {}
        weights: dict[str, int] = {}
        for _ in range(rounds + 1):  # an episode each, because its page views are limited; the first one warms up
            for name, url in _pages(browser.new_page(viewport=WINDOW), enterprise.url).items():
                paint, weights[name] = _load(browser.new_page(viewport=WINDOW), url)
                paints.setdefault(name, []).append(paint)
        for name, durations in paints.items():
            table.add_row(name, f"{median(durations[1:]):.0f}", f"{weights[name] / 1000:.1f}")
    OUT.print(table)


def _load(page: Page, url: str) -> tuple[float, int]:
    """Return the time to first paint in milliseconds and the transferred size in bytes."""
    page.goto(url, wait_until="load")
    paint = None
    while paint is None:
        page.wait_for_timeout(20)
        paint, weight = page.evaluate(_MEASURED)
    page.close()
    return paint, weight


def _pages(page: Page, server: str) -> dict[str, str]:
    """Return the addresses of the pages by name, in a new episode with one step."""
    answer = httpx.post(f"{server}/reset", json=TASK, timeout=60).raise_for_status().json()
    episode = answer["episode_id"]
    action = {"tool_name": "ticketdesk_list_tickets", "arguments": {}}
    httpx.post(f"{server}/step", json={"episode_id": episode, "action": action}, timeout=60).raise_for_status()
    apps = f"{server}/v1/episodes/{episode}/apps"
    pages = {path: f"{server}{path}" for path in SITE} | {"viewer": f"{server}/console/episodes/{episode}"}
    pages |= {f"apps{path}": f"{apps}{path}" for path in APPS}
    for path in LISTS:
        page.goto(f"{apps}{path}")
        first = page.locator("tbody a").first.get_attribute("href") or ""
        pages[f"apps{first.partition('/apps')[2]}"] = f"{server}{first}"
    page.close()
    return pages


if __name__ == "__main__":
    main()
