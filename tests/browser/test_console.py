"""The console in a real Chromium: live episodes, results with charts, and scenarios."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from companyos.enterprise import Enterprise
from tests.browser.accessibility import faults_of
from tests.browser.conftest import NARROW, WIDE, expect
from tests.ui import episode_client

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

SCENARIO = "vendor_onboarding"
STEPS = 60
LOOKED_AT = 14
"""The step of a live episode that the test opens."""
EVALUATED = ["--policy", "oracle", "--policy", "worker2", "--policy", "noop", "-n", "3"]
LEVELS = ["--chaos", "0", "--chaos", "2", "--chaos", "4"]


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a gateway with a stored run and provide its URL."""
    runs = tmp_path_factory.mktemp("console") / "runs"
    runs.mkdir()
    with Enterprise(alone=True, settings={"COMPANYOS_RUNS": str(runs)}) as opened:
        options_sent = ["eval", *EVALUATED, *LEVELS, "--url", opened.url, "--out", str(runs / "three-policies")]
        subprocess.run([sys.executable, "-m", "companyos", *options_sent], check=True, capture_output=True)
        yield opened.url


def begin(url: str, **options: Any) -> dict[str, Any]:
    """Start an episode."""
    options_sent = {"scenario": SCENARIO, "seed": 3, "chaos": 2, **options}
    answer: dict[str, Any] = httpx.post(f"{url}/reset", json=options_sent, timeout=30).json()
    return answer


def step(url: str, episode_id: str, tool: str, **arguments: Any) -> None:
    """Take one step."""
    action = {"tool_name": tool, "arguments": arguments}
    httpx.post(f"{url}/step", json={"episode_id": episode_id, "action": action}, timeout=30).raise_for_status()


def play(url: str, begun: dict[str, Any], most: int = 200) -> None:
    """Play a number of steps with the oracle."""

    async def played() -> None:
        async with httpx.AsyncClient(base_url=url, timeout=30) as client:
            await episode_client.solve(client, begun, SCENARIO, most)

    with ThreadPoolExecutor(1) as executor:  # Playwright occupies the event loop of this thread
        executor.submit(asyncio.run, played()).result()


def test_the_viewer_shows_the_screenshots_of_an_episode_in_a_strip(page: Any, runtime: str) -> None:
    episode = begin(runtime, modality="screenshot")["episode_id"]
    page.goto(f"{runtime}/console/episodes/{episode}")
    strip = page.get_by_test_id("screenshots")
    expect(strip.locator("a")).to_have_text(["Start"])
    step(runtime, episode, "browser_goto", address="/datahub/")
    step(runtime, episode, "datahub_list_sources")
    step(runtime, episode, "browser_goto", address="/ticketdesk/")
    step(runtime, episode, "ticketdesk_list_tickets")
    expect(strip.locator("a")).to_have_text(["Start", "Start", "Step 1"])
    strip.locator("a").first.click()
    page.get_by_test_id("timeline").locator('a[data-number="2"]').click()
    expect(strip.locator("a[aria-current]")).to_have_text("Step 1")
    page.wait_for_function("picture => picture.naturalWidth > 0", arg=strip.locator("img").last.element_handle())
    assert faults_of(page, WIDE, "screenshots") == []
    assert page.troubles == []


def test_the_live_viewer_follows_an_episode_to_its_end(page: Any, runtime: str) -> None:
    begun = begin(runtime)
    episode_id = begun["episode_id"]
    play(runtime, begun, most=2)
    page.goto(f"{runtime}/console")
    page.get_by_test_id(f"view-{episode_id}").click()
    page.locator("#step-2").wait_for()
    page.get_by_text("live", exact=True).first.wait_for()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.locator('[data-testid=step][aria-label="Step 2"]').wait_for()
    step(runtime, episode_id, "ticketdesk_list_tickets")
    page.locator('[data-testid=step][aria-label="Step 3"]').wait_for()
    page.keyboard.press("k")
    page.locator('[data-testid=step][aria-label="Step 2"]').wait_for()
    step(runtime, episode_id, "no_such_tool")
    page.locator("#step-4").wait_for()
    assert page.get_by_test_id("step").get_attribute("aria-label") == "Step 2"
    page.evaluate("location.hash = 'step-4'")
    page.locator('[data-testid=step][aria-label="Step 4"]').wait_for()
    step(runtime, episode_id, "finish", outcome="impossible", summary="Somebody looked.")
    page.locator("#step-5").wait_for()
    page.keyboard.press("Home")
    page.get_by_text("Recorded").wait_for()
    expect(page.get_by_label("Declaration (finish)")).to_contain_text("Somebody looked.")
    page.reload()
    page.goto(f"{page.url.partition('#')[0]}#step-1")
    page.locator('[data-testid=step][aria-label="Step 1"]').wait_for()


def test_sixty_live_steps_open_and_the_time_is_reported(page: Any, runtime: str) -> None:
    begun = begin(runtime, scenario="quarter_close")
    for number in range(STEPS):
        step(runtime, begun["episode_id"], ("ticketdesk_list_tickets", "datahub_list_metrics")[number % 2])
    for _ in range(3):
        page.goto("about:blank")
        page.goto(f"{runtime}/console/episodes/{begun['episode_id']}")
        page.get_by_label("Search steps").fill("_list_")
        page.get_by_test_id("timeline-step").nth(STEPS - 1).wait_for()
        painted = "new Promise(done => requestAnimationFrame(() => setTimeout(() => done(performance.now()))))"
        print(f"{STEPS} live steps opened in {page.evaluate(painted):.0f} ms")  # noqa: T201


def test_the_list_of_episodes_refreshes_itself_and_keeps_the_typed_filter(page: Any, runtime: str) -> None:
    first = begin(runtime)["episode_id"]
    page.goto(f"{runtime}/console?state=running")
    page.get_by_test_id(f"choose-{first}").check()
    page.get_by_test_id("filter-scenario").select_option("handbook_update")
    page.get_by_test_id("start-seed-int").fill("77")
    page.get_by_test_id(f"view-{first}").focus()
    page.evaluate("window.kept = true")
    second = begin(runtime)["episode_id"]
    page.get_by_test_id(f"view-{second}").wait_for()
    step(runtime, first, "ticketdesk_list_tickets")
    row = page.get_by_test_id(f"episode-{first}")
    expect(row.locator("td").nth(3)).to_contain_text("1 of ")
    expect(page.get_by_test_id("episodes").locator("tbody tr").first).to_have_attribute(
        "data-testid", f"episode-{first}"
    )
    expect(page.get_by_test_id(f"view-{first}")).to_be_focused()
    expect(page.get_by_test_id(f"choose-{first}")).to_be_checked()
    expect(page.get_by_test_id(f"choose-{second}")).not_to_be_checked()
    expect(page.get_by_test_id("filter-scenario")).to_have_value("handbook_update")
    expect(page.get_by_test_id("start-seed-int")).to_have_value("77")
    httpx.delete(f"{runtime}/v1/episodes/{second}").raise_for_status()
    expect(page.get_by_test_id(f"view-{second}")).to_have_count(0)
    assert page.evaluate("window.kept")


def test_two_selected_episodes_are_compared(page: Any, runtime: str) -> None:
    first, second = begin(runtime)["episode_id"], begin(runtime)["episode_id"]
    step(runtime, first, "ticketdesk_list_tickets")
    step(runtime, second, "datahub_list_metrics")
    page.goto(f"{runtime}/console?state=running")
    for one in (first, second):
        page.get_by_test_id(f"choose-{one}").check()
    page.get_by_test_id("compare-chosen").click()
    page.get_by_text("First difference in row 1").wait_for()


def test_a_comparison_does_not_show_a_running_episode_as_ended(page: Any, runtime: str) -> None:
    ahead, behind = begin(runtime)["episode_id"], begin(runtime)["episode_id"]
    step(runtime, ahead, "ticketdesk_list_tickets")
    page.goto(f"{runtime}/console/compare?episode=episodes/{ahead}&episode=episodes/{behind}")
    expect(page.get_by_test_id("pair").locator("td").nth(1)).to_have_text("not yet played")
    httpx.delete(f"{runtime}/v1/episodes/{behind}").raise_for_status()
    step(runtime, ahead, "ticketdesk_list_tickets")
    page.reload()
    expect(page.get_by_test_id("pair").nth(1).locator("td").nth(1)).to_have_text("ended")


def test_lists_figures_and_forms_work_without_scripts(chromium: Any, runtime: str) -> None:
    context = chromium.new_context(java_script_enabled=False, viewport={"width": WIDE, "height": 900})
    page = context.new_page()
    page.goto(f"{runtime}/console/scenarios")
    page.get_by_test_id("scenario-handbook_update").click()
    page.get_by_label("Start train.handbook_update.0.00").click()
    assert page.get_by_test_id("brief").inner_text()
    page.goto(f"{runtime}/console")
    page.get_by_test_id("filter-scenario").select_option("handbook_update")
    page.get_by_test_id("filter-button").click()
    page.locator('[data-testid^="view-"]').first.click()
    page.get_by_role("link", name="Steps as a table").click()
    assert "Verdict so far" in page.inner_text("main")
    page.goto(f"{runtime}/console/results")
    page.get_by_test_id("run-three-policies").click()
    assert page.locator("svg.curves polyline").count() == 6
    expect(page.get_by_test_id("figures")).to_contain_text("worker2")
    context.close()


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_axe_reports_no_serious_violations_on_the_console_and_screenshots_are_taken(
    page: Any, runtime: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    live, over = begin(runtime), begin(runtime)
    play(runtime, live, most=LOOKED_AT)
    play(runtime, over)
    name = "episodes/vendor_onboarding-0-c4-worker2"
    views = {
        "list": ("", "Running and finished episodes"),
        "live": (f"/episodes/{live['episode_id']}#step-{LOOKED_AT}", f"Step {LOOKED_AT}"),
        "over": (f"/episodes/{over['episode_id']}", "Reward by part"),
        "steps": (f"/episodes/{live['episode_id']}/steps", "Verdict so far"),
        "results": ("/results", "three-policies"),
        "run": ("/results/three-policies", "Mean return by chaos level"),
        "evaluated": (f"/results/three-policies/episodes#episode={name.partition('/')[2]}", "Rescored"),
        "scenarios": ("/scenarios", "Description"),
        "scenario": (f"/scenarios/{SCENARIO}", "Variation"),
    }
    faults = []
    for view, (path, text) in views.items():
        page.goto("about:blank")
        page.goto(f"{runtime}/console{path}")
        page.locator("main").get_by_text(text).filter(visible=True).first.wait_for()
        faults += faults_of(page, width, view)
        if folder := os.environ.get("SCREENSHOTS"):
            page.screenshot(path=Path(folder) / f"console-{view}-{width}.png")
    assert not faults, "\n".join(faults)
