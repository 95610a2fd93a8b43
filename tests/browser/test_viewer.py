"""The viewer in a real Chromium: speed, keyboard, addresses, malicious text and live episodes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from companyos.contract import Outcome
from companyos.report import build_report
from companyos.report.page import report_page
from companyos.viewer import EpisodeFacts, RunDocument, export_page
from companyos.viewer.server import ViewerServer
from companyos.viewer.stored_run import StoredRun
from tests.browser.accessibility import faults_of
from tests.browser.conftest import NARROW, WIDE, expect
from tests.browser.live_server import LiveServer
from tests.client.stored_runs import (
    CHANGES,
    LINES,
    a_change,
    a_line,
    a_problem,
    an_audit,
    evidence,
    judge,
    write_episode,
)

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

STEPS = 60
ROWS_A_STEP = 8
HOSTILE = "</script><img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
NAME = "tiny-0-c1-oracle"
OTHER = "tiny-0-c1-noop"


def a_large_run(folder: Path) -> Path:
    """Write an episode of 60 steps, each with a long response and eight rows of twenty columns."""
    item = {f"column_{number}": "a value of some length" for number in range(20)}
    lines = [
        a_line(step % 60, result={"items": [item] * 20}, now=f"2026-03-02T{9 + step // 60:02}:{step % 60:02}:00Z")
        for step in range(1, STEPS)
    ]
    lines.append(a_line(STEPS, done=True, now="2026-03-02T10:00:00Z"))
    changes = [
        a_change(
            step,
            before=item,
            after={**item, "column_3": "another"},
            key=f"T-{step}-{row}",
            at="2026-03-02T09:00:00Z",
            seq=step * ROWS_A_STEP + row,
        )
        for step in range(1, STEPS + 1)
        for row in range(ROWS_A_STEP)
    ]
    audits = [an_audit(step % 60) | {"step": step} for step in range(1, STEPS + 1)]
    write_episode(folder, lines=lines, stored=evidence(changes=changes, audits=audits))
    return folder


def exported(run: Path, file: Path) -> str:
    """Write the export of a run and return its URL."""
    stored = StoredRun(run)
    file.write_text(export_page(stored.document(), [stored.episode(name, judge) for name in stored.names]))
    return file.as_uri()


@pytest.fixture
def small(tmp_path: Path) -> str:
    """Provide the URL of an export of two small episodes."""
    write_episode(tmp_path / "run")
    write_episode(tmp_path / "run", policy="noop", lines=LINES[:2], stored=evidence(changes=CHANGES[:0]))
    return exported(tmp_path / "run", tmp_path / "run.html")


@pytest.fixture(scope="module")
def played(enterprise: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Provide the URL of an export of episodes played in a real gateway."""
    requested = ["--policy", "oracle", "--policy", "worker2", "-n", "2", "--chaos", "2"]
    return _play(enterprise, tmp_path_factory.mktemp("played"), requested)


def _play(enterprise: str, folder: Path, options: list[str]) -> str:
    """Play episodes in a gateway and return the URL of their export."""
    requested = [*options, "--url", enterprise]
    for command in (["eval", *requested, "--out", "run"], ["view", "run", "--export", "run.html"]):
        subprocess.run([sys.executable, "-m", "companyos", *command], cwd=folder, check=True, capture_output=True)
    return (folder / "run.html").as_uri()


def test_sixty_steps_open_with_every_difference_and_the_time_is_reported(page: Any, tmp_path: Path) -> None:
    url = exported(a_large_run(tmp_path / "run"), tmp_path / "run.html")
    page.goto(url)
    page.get_by_test_id("timeline-step").nth(STEPS - 1).wait_for()
    painted = "new Promise(done => requestAnimationFrame(() => setTimeout(() => done(performance.now()))))"
    opening = page.evaluate(painted)
    slowest = page.evaluate(
        """async steps => {
            let slowest = 0;
            for (let step = 1; step <= steps; step++) {
                const since = performance.now();
                location.hash = `step-${step}`;
                const there = `[data-testid=step][aria-label="Step ${step}"]`;
                while (!document.querySelector(there)) await new Promise(requestAnimationFrame);
                await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
                if (document.querySelectorAll('[data-testid=change]').length !== 8) throw new Error(`step ${step}`);
                slowest = Math.max(slowest, performance.now() - since);
            }
            return slowest;
        }""",
        STEPS,
    )
    print(f"opened in {opening:.0f} ms, the slowest of {STEPS} differences in {slowest:.0f} ms")  # noqa: T201


def test_keys_and_urls_select_steps(page: Any, small: str) -> None:
    page.goto(f"{small}#episode={NAME}&step=2")
    step = page.get_by_test_id("step")
    expect(step).to_have_attribute("aria-label", "Step 2")
    for key, text in (
        ("j", "Step 3"),
        ("ArrowDown", "Step 4"),
        ("k", "Step 3"),
        ("ArrowUp", "Step 2"),
        ("End", "Step 6"),
    ):
        page.keyboard.press(key)
        page.locator(f'[data-testid=step][aria-label="{text}"]').wait_for()
    assert page.url.endswith(f"#episode={NAME}&step=6")
    expect(page.get_by_test_id("difference")).to_contain_text("open")
    page.keyboard.press("Home")
    expect(page.get_by_test_id("brief")).to_contain_text("Close T-1.")
    page.evaluate("location.hash = 'step-5'")
    page.locator('[data-testid=step][aria-label="Step 5"]').wait_for()
    expect(page.locator("#step-5")).to_have_attribute("aria-current", "step")


def test_the_heading_of_an_episode_is_its_readable_name(page: Any, tmp_path: Path) -> None:
    write_episode(tmp_path / "run", stored=evidence(brief="Onboard the vendor by\nday 3.5. Then close T-1."))
    stored = StoredRun(tmp_path / "run")
    run, episode = stored.document(), stored.episode(NAME)
    for facts in (run.episodes[0], episode.facts):
        facts.scenario, facts.seed = "vendor_onboarding-large", 7
    (tmp_path / "run.html").write_text(export_page(run, [episode]))
    page.goto((tmp_path / "run.html").as_uri())
    expect(page.get_by_role("heading", level=1)).to_have_text("Vendor onboarding large, seed 7, chaos 1, oracle")
    expect(page.get_by_test_id("lead")).to_have_text("Onboard the vendor by day 3.5.")
    expect(page.get_by_test_id("id")).to_have_text(NAME)
    assert page.title().startswith("Vendor onboarding large, seed 7")


def test_an_episode_shows_verdict_reward_and_faults(page: Any, small: str) -> None:
    page.goto(f"{small}#episode={NAME}")
    closed = page.get_by_test_id("checks").locator("tr", has_text="ticket closed")
    expect(closed.locator("a")).to_have_text(["step 6"])
    expect(page.get_by_test_id("rewards")).to_contain_text("milestones")
    expect(page.get_by_test_id("injections")).to_contain_text("ticket locked")
    expect(page.locator("#step-1")).to_contain_text("503 injected fault")
    expect(page.locator("#step-2")).to_contain_text("fault: stale read")
    page.goto(f"{small}#episode={OTHER}")
    expect(page.get_by_test_id("verdict")).to_contain_text("primary failure: ticket closed")
    expect(closed).to_contain_text("desk.tickets[T-1]: expected status: closed; found status: open")


def test_checks_of_a_running_episode_are_pending_and_not_failed(page: Any, tmp_path: Path) -> None:
    write_episode(tmp_path / "run", policy="noop", lines=LINES[:2], stored=evidence(changes=CHANGES[:0]))
    stored = StoredRun(tmp_path / "run")
    run, episode = stored.document(), stored.episode(OTHER)
    for facts in (run.episodes[0], episode.facts):
        facts.outcome = facts.success = None
    (tmp_path / "run.html").write_text(export_page(run, [episode]))
    page.goto((tmp_path / "run.html").as_uri())
    verdict = page.get_by_test_id("verdict")
    expect(verdict).to_contain_text("1 of 2 checks hold so far")
    expect(page.get_by_test_id("checks").locator(".badge")).to_have_text(["pending", "passed"])
    expect(verdict).not_to_contain_text("fail")


def a_run_with_reads(folder: Path) -> str:
    """Export an episode of a write, five reads, a problem and a write, and return its URL."""
    lines = [a_line(1, "desk_add_comment", arguments={"key": "T-1", "body": "Started."})]
    lines += [a_line(step, result={"text": f"row {step}"}) for step in range(2, 7)]
    lines.append(a_line(7, "desk_close_ticket", result=a_problem(409, "ticket-locked"), reward=-0.4))
    lines.append(a_line(8, "desk_close_ticket", result={"status": "closed"}, reward=16.9, done=True))
    changes = [
        a_change(1, before=None, after={"key": "C-1"}, table="comments", key="C-1"),
        a_change(8, before={"status": "open"}, after={"status": "closed"}, seq=2),
    ]
    audits = [an_audit(step) for step in range(1, 7)] + [an_audit(7, status=409, code="ticket-locked"), an_audit(8)]
    write_episode(folder / "run", lines=lines, stored=evidence(changes=changes, audits=audits))
    return exported(folder / "run", folder / "run.html")


def test_consecutive_reads_are_collapsed_until_they_are_expanded_or_linked(page: Any, tmp_path: Path) -> None:
    page.goto(a_run_with_reads(tmp_path))
    steps, reads = page.get_by_test_id("timeline-step"), page.get_by_test_id("reads")
    expect(steps).to_have_count(3)
    expect(reads).to_contain_text("5 reads")
    for key, text in (("j", "Step 1"), ("j", "Step 7"), ("k", "Step 1")):
        page.keyboard.press(key)
        page.locator(f'[data-testid=step][aria-label="{text}"]').wait_for()
    reads.click()
    expect(steps).to_have_count(8)
    expect(reads).to_be_focused()
    page.keyboard.press("j")
    page.locator('[data-testid=step][aria-label="Step 2"]').wait_for()
    page.keyboard.press("Home")
    reads.click()
    expect(steps).to_have_count(3)
    page.evaluate("location.hash = 'step-4'")
    page.locator('[data-testid=step][aria-label="Step 4"]').wait_for()
    expect(page.locator("#step-4")).to_have_attribute("aria-current", "step")
    page.locator("#step-5").click()
    page.locator('[data-testid=step][aria-label="Step 5"]').wait_for()
    expect(page.locator("#step-5")).to_be_focused()
    page.get_by_role("button", name="Next").click()
    page.locator('[data-testid=step][aria-label="Step 6"]').wait_for()


def test_steps_are_searched_and_filtered_and_a_link_shows_a_hidden_step(page: Any, tmp_path: Path) -> None:
    page.goto(a_run_with_reads(tmp_path))
    steps, search = page.get_by_test_id("timeline-step"), page.get_by_label("Search steps")
    for text, count in (("CLOSE_TICKET", 2), ("started.", 1), ("row 4", 1), ("ticket-locked", 1), ("nothing", 0)):
        search.fill(text)
        expect(steps).to_have_count(count)
        expect(page.get_by_test_id("matches")).to_have_text(f"{count} of 8 steps match")
    search.fill("")
    page.get_by_role("button", name="Problems").click()
    expect(steps).to_have_count(1)
    page.get_by_role("button", name="Writes").click()
    expect(steps).to_have_count(2)
    for key, text in (("j", "Step 1"), ("j", "Step 8"), ("k", "Step 1")):
        page.keyboard.press(key)
        page.locator(f'[data-testid=step][aria-label="{text}"]').wait_for()
    expect(page.get_by_role("button", name="Writes")).to_have_attribute("aria-pressed", "true")
    page.evaluate("location.hash = 'step-3'")
    expect(page.locator("#step-3")).to_have_attribute("aria-current", "step")
    expect(page.get_by_role("button", name="All", exact=True)).to_have_attribute("aria-pressed", "true")


def test_the_list_filters_and_sorts_and_two_episodes_are_compared(page: Any, small: str) -> None:
    page.goto(small)
    rows = page.get_by_test_id("episode")
    expect(rows).to_have_count(2)
    page.get_by_role("combobox", name="Outcome").select_option("failed")
    expect(rows).to_have_count(1)
    page.get_by_role("combobox", name="Outcome").select_option("")
    page.get_by_role("button", name="return").click()
    expect(rows.first).to_contain_text(OTHER)
    page.get_by_label(f"Compare {NAME}").check()
    page.get_by_label(f"Compare {OTHER}").check()
    page.get_by_test_id("compare").click()
    expect(page.get_by_test_id("parting")).to_contain_text("First difference in row 3: only in the first")
    page.get_by_role("link", name="Show it").click()
    expect(page.get_by_test_id("detail")).to_contain_text("This episode had ended before this call.")


def a_run_of(folder: Path, count: int) -> str:
    """Export a run of many episodes: every third one failed, two scenarios, two policies, two levels."""
    facts = EpisodeFacts(name="", outcome=Outcome.SUCCESS, success=True)
    episodes = []
    for at in range(count):
        own: dict[str, Any] = {
            "scenario": f"task_{at % 2}",
            "policy": "ab"[at // 2 % 2],
            "chaos": at // 4 % 2,
            "seed": at // 8,
        }
        if at % 3 == 0:
            own |= {"outcome": Outcome.FAILED, "success": False, "failed": ["ticket_closed", f"check_{at % 30}"]}
        name = "{scenario}-{seed}-c{chaos}-{policy}".format_map(own)
        episodes.append(facts.model_copy(update={"name": name, **own}))
    file = folder / "large.html"
    file.write_text(export_page(RunDocument(title="large", episodes=episodes), []))
    return file.as_uri()


def test_a_run_has_a_heat_map_and_failed_checks_that_filter_the_list(page: Any, tmp_path: Path) -> None:
    page.goto(a_run_of(tmp_path, 48))
    rows = page.get_by_test_id("heat-row")
    expect(rows).to_have_count(4)
    expect(rows.first.locator("a")).to_have_count(12)
    expect(rows.first).to_contain_text("Task 0")
    failed = page.get_by_role("link", name="task_0-0-c0-a: failed", exact=True)
    expect(failed).to_have_text("\u2717")
    expect(page.get_by_role("link", name="task_1-0-c0-a: success", exact=True)).to_have_text("\u2713")
    assert failed.get_attribute("href") == "#episode=task_0-0-c0-a"
    expect(page.get_by_test_id("failed-check").first).to_contain_text("ticket closed")
    page.get_by_label("8 episodes of b failed ticket closed").click()
    expect(page.get_by_test_id("episode")).to_have_count(8)
    expect(page.get_by_role("combobox", name="Policy")).to_have_value("b")
    assert faults_of(page, WIDE, "run") == []


def test_a_run_of_two_thousand_episodes_is_rendered_quickly(page: Any, tmp_path: Path) -> None:
    url = a_run_of(tmp_path, 2000)
    page.goto("about:blank")
    page.goto(url)
    expect(page.get_by_test_id("heat-row").locator("a")).to_have_count(2000)
    drawn = page.evaluate(
        """async () => {
            const since = performance.now();
            document.querySelector("main").replaceChildren();
            window.dispatchEvent(new Event("hashchange"));
            while (!document.querySelector("[data-testid=episode]")) await new Promise(requestAnimationFrame);
            await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
            return performance.now() - since;
        }"""
    )
    print(f"a run of 2,000 episodes is drawn in {drawn:.0f} ms")  # noqa: T201
    assert drawn < 10_000


def test_tokens_and_cost_of_a_model_are_shown(page: Any, small: str, tmp_path: Path) -> None:
    page.goto(small)
    expect(page.get_by_role("button", name="return")).to_be_visible()
    expect(page.get_by_role("button", name="tokens")).to_have_count(0)
    used = {"model": "m", "requests": 3, "retries": 0, "unmetered": 0, "latency_s": 1.5, "cost": 0.01234}
    run = tmp_path / "model"
    write_episode(run)
    write_episode(run, policy="llm", usage={**used, "prompt_tokens": 12000, "completion_tokens": 345})
    page.goto(exported(run, tmp_path / "model.html"))
    expect(page.get_by_role("button", name="cost")).to_be_visible()
    page.get_by_role("button", name="tokens").click()
    cells = page.get_by_test_id("episode").last.locator("td.figure")
    expect(cells.nth(-2)).to_have_text("12,345")
    expect(cells.nth(-1)).to_have_text("0.01234")
    page.get_by_test_id("episode").last.get_by_role("link").click()
    expect(page.get_by_test_id("tokens")).to_have_text("tokens 12,345 (12,000 prompt, 345 completion)")
    expect(page.get_by_test_id("cost")).to_have_text("cost 0.01234")


def test_steps_of_two_episodes_are_aligned_by_tool_and_entity(page: Any, small: str) -> None:
    page.goto(small)

    def aligned(one: str, other: str) -> str:
        """Align calls such as `a1`: tool `a` with key `1`."""
        steps = [
            [{"tool": call[0], "arguments": {"key": call[1], "n": at}} for call in calls.split()]
            for at, calls in enumerate((one, other))
        ]
        pairs = page.evaluate("([one, other]) => Viewer.align(one, other)", steps)
        named = [[step["tool"] + step["arguments"]["key"] if step else "-" for step in pair] for pair in pairs]
        return " ".join("/".join(pair) for pair in named)

    assert aligned("a1 b1 c1", "a1 x1 b1 c1") == "a1/a1 -/x1 b1/b1 c1/c1"
    assert aligned("a1 a2 c1", "a2 c1 d1") == "a1/- a2/a2 c1/c1 -/d1"
    assert aligned("a1", "b1") == "a1/- -/b1"
    assert aligned("", "a1") == "-/a1"
    assert aligned("", "") == ""


def test_an_additional_step_does_not_shift_the_rows_of_a_comparison(page: Any, tmp_path: Path) -> None:
    write_episode(tmp_path / "run")
    lines = [{**line, "step": at} for at, line in enumerate((LINES[0], a_line(2, "desk_list_tickets"), *LINES[1:]), 1)]
    write_episode(tmp_path / "run", policy="noop", lines=lines, stored=evidence(changes=CHANGES[:0], audits=()))
    page.goto(f"{exported(tmp_path / 'run', tmp_path / 'run.html')}#episode={NAME}&with={OTHER}&step=3")
    expect(page.get_by_test_id("pair").locator("td:last-child")).to_have_text(
        ["same", "only in the second", *["same"] * 5]
    )
    detail = page.get_by_test_id("detail")
    expect(detail.get_by_test_id("step").first).to_have_attribute("aria-label", "Step 2")
    expect(detail.get_by_test_id("step").last).to_have_attribute("aria-label", "Step 3")


def test_hostile_text_is_shown_as_text(page: Any, tmp_path: Path) -> None:
    change = a_change(1, before=None, after={HOSTILE: HOSTILE, "title": HOSTILE}, key=HOSTILE, table=HOSTILE)
    line = a_line(1, tool=HOSTILE, arguments={HOSTILE: HOSTILE}, result=HOSTILE, error={"error_type": HOSTILE})
    stored = evidence(
        changes=[change],
        audits=[an_audit(1, code=HOSTILE, planned=HOSTILE)],
        brief=HOSTILE,
        company=HOSTILE,
        acting_as=HOSTILE,
    )
    folder = tmp_path / "run"
    write_episode(
        folder,
        lines=[line],
        stored=stored,
        trouble=HOSTILE,
        injections=[{"kind": HOSTILE, "mark": "friction", "entity": HOSTILE, "detail": {HOSTILE: HOSTILE}}],
    )
    url = exported(folder, tmp_path / "run.html")
    for path in (
        "",
        f"#episode={NAME}",
        f"#episode={NAME}&step=1",
        f"#episode={HOSTILE}",
        f"#episode={NAME}&with={NAME}",
    ):
        page.goto("about:blank")
        page.goto(url + path)
        page.get_by_role("heading", level=1).wait_for()
        assert page.locator("img").count() == 0
        assert page.title() != "owned"
    page.goto(f"{url}#episode={NAME}&step=1")
    assert page.get_by_test_id("step").get_by_text(HOSTILE, exact=True).count() >= 3


def test_a_report_links_to_the_step_that_decided_an_episode_and_back(page: Any, tmp_path: Path) -> None:
    run = tmp_path / "run"
    write_episode(run)
    for policy in ("noop", "random"):
        write_episode(run, policy=policy, lines=LINES[:2], stored=evidence(changes=CHANGES[:0]))
    stored, file = StoredRun(run), tmp_path / "report.html"
    file.write_text(report_page(build_report({"run": stored.records}), {"run": stored}, judge))
    page.goto(file.as_uri())
    page.locator("#report").get_by_role("link", name="tiny-0-c1-noop, step 2").first.click()
    expect(page.get_by_test_id("step")).to_contain_text("Step 2")
    expect(page.locator("#report")).to_be_hidden()
    page.go_back()
    expect(page.locator("#report")).to_be_visible()


def test_a_shift_shows_its_cases_over_time(page: Any, enterprise: str, tmp_path: Path) -> None:
    url = _play(enterprise, tmp_path, ["--policy", "oracle", "--scenario", "shift-day", "-n", "1"])
    page.goto(f"{url}#episode=shift-day-0-c1-oracle")
    cases = page.get_by_test_id("cases")
    expect(cases).to_contain_text("3 of 3 cases solved")
    lanes = cases.locator("tbody tr")
    expect(lanes).to_have_count(3)
    for number in range(3):
        lane = lanes.nth(number)
        expect(lane).to_contain_text("solved")
        expect(lane).to_contain_text("due ")
        assert lane.locator(".act").count() > 3
        assert lane.locator(".span").count() > 1
    lanes.first.locator(".said").first.click()
    expect(page.get_by_test_id("step")).to_be_visible()


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_axe_reports_no_serious_violations_and_no_view_overflows_its_window(page: Any, small: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    faults = []
    for path in ("", f"#episode={NAME}", f"#episode={NAME}&step=6", f"#episode={NAME}&with={OTHER}&step=2"):
        page.goto("about:blank")
        page.goto(small + path)
        page.get_by_role("heading", level=1).wait_for()
        faults += faults_of(page, width, path)
    assert not faults, "\n".join(faults)


def test_a_served_run_is_rescored_when_it_is_viewed(page: Any, tmp_path: Path) -> None:
    write_episode(tmp_path)
    with ViewerServer(StoredRun(tmp_path), load_rescorer=lambda: judge) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        page.goto(server.url)
        page.get_by_text("Rescored: success").wait_for()
        expect(page.locator("#step-6")).to_contain_text("ticket closed")
        server.shutdown()
        thread.join()


def test_the_viewer_follows_a_running_episode(page: Any, tmp_path: Path) -> None:
    write_episode(tmp_path)
    whole = StoredRun(tmp_path).episode(NAME, judge)
    with LiveServer(whole) as server:
        page.goto(f"{server.url}#step-2")
        page.locator('[data-testid=step][aria-label="Step 2"]').wait_for()
        for number in (3, 4, 5):
            server.more.release()
            page.locator(f'[data-testid=step][aria-label="Step {number}"]').wait_for()
        page.keyboard.press("k")
        page.locator('[data-testid=step][aria-label="Step 4"]').wait_for()
        server.more.release()
        page.locator("#step-6").wait_for()
        page.get_by_text("success").first.wait_for()
        assert page.get_by_test_id("step").get_attribute("aria-label") == "Step 4"
        assert server.requested == ["/live/events?after=2"]


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_played_run_shows_which_step_changed_which_check(page: Any, played: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    failed = "vendor_onboarding-0-c2-worker2"
    views = {
        "run": ("", "episodes successful"),
        "episode": (f"#episode={failed}", "Rescored: failure"),
        "step": (f"#episode={failed}&step=16", "✓ priority by policy"),
        "compared": (f"#episode=vendor_onboarding-0-c2-oracle&with={failed}&step=23", "only in the"),
    }
    for name, (path, text) in views.items():
        page.goto("about:blank")
        page.goto(played + path)
        page.get_by_text(text).first.wait_for()
        if folder := os.environ.get("SCREENSHOTS"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=Path(folder) / f"viewer-{name}-{width}.png")
