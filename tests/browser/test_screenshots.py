"""Screenshot episodes: screenshots, free actions, and clicks that are steps."""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncIterator
from contextlib import nullcontext
from typing import Any

import httpx
import pytest
from examples.screenshot_agent import TASK, main

from companyos.client import CompanyOSEnv
from companyos.contract import Outcome, Screenshot, Viewport
from tests.browser.png import png_size

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

PAGES = ("/", "/ticketdesk/", "/ticketdesk/board", "/datahub/", "/datahub/organisation", "/approvalflow/submit")
HOSTILE = (
    "</title><script>location='http://example.org/'</script>",
    "<img src=x onerror=\"location='/console'\">",
    '"><a href="http://example.org/" autofocus onfocus=location=this.href>free</a>',
    '<meta http-equiv="refresh" content="0;url=http://example.org/">',
    '<form action="http://example.org/"><button>Send</button></form>',
    "javascript:alert(1)",
)
CARD = """
<div style="margin: 30px; border: 1px solid #d0d4da; border-radius: 12px"><p style="padding: 20px">Orders</p></div>
"""
REDRAW_IN_PART = """async () => {
    const drawn = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    const notice = document.createElement("p");
    notice.textContent = "Saved";
    document.body.prepend(notice);
    await drawn();
    notice.remove();
    await drawn();
}"""


def _shown(observation: Any) -> Screenshot:
    assert isinstance(observation.screenshot, Screenshot)
    return observation.screenshot


@pytest.fixture
async def env(enterprise: str) -> AsyncIterator[CompanyOSEnv]:
    """Provide a client of the gateway."""
    async with CompanyOSEnv(base_url=enterprise) as client:
        yield client


def test_an_agent_that_uses_only_the_browser_tools_renews_a_license(enterprise: str) -> None:
    state = main(enterprise)
    assert (state.outcome, state.success) == (Outcome.SUCCESS, True)


async def test_two_screenshots_of_the_same_state_are_equal(env: CompanyOSEnv) -> None:
    seen: list[list[str]] = []
    for _ in range(2):
        pages = [_shown((await env.reset(**TASK, modality="screenshot")).observation)]
        for address in PAGES:
            pages.append(_shown((await env.call_tool("browser_goto", address=address)).observation))
            pages.append(_shown((await env.call_tool("browser_click", x=640, y=30)).observation))
        seen.append([page.model_dump_json() for page in pages])
    assert seen[0] == seen[1]
    assert len(set(seen[0])) > len(PAGES)


async def test_a_form_in_the_window_is_the_same_step_as_the_tool_call(env: CompanyOSEnv, enterprise: str) -> None:
    observations, seen = [], []
    for modality in ("screenshot", "text"):
        first = (await env.reset(**TASK, modality=modality)).observation
        key = _key(first.brief)
        if modality == "screenshot":
            await env.call_tool("browser_goto", address=f"/ticketdesk/tickets/{key}")
            await env.call_tool("browser_click", testid="verify")
            await env.call_tool("browser_click", testid="add_comment-body")
            await env.call_tool("browser_type", text="Looked at.")
            answer = await env.call_tool("browser_click", testid="comment")
        else:
            await env.call_tool("ticketdesk_verify_ticket", key=key)
            answer = await env.call_tool("ticketdesk_add_comment", key=key, body="Looked at.")
        state = await env.state()
        observations.append(
            (answer.observation.model_dump(exclude={"screenshot"}), answer.reward, state.return_, state.now)
        )
        async with httpx.AsyncClient(base_url=enterprise, timeout=30) as http:
            evidence = (await http.get(f"/v1/episodes/{state.episode_id}/evidence")).json()
        seen.append((_comparable(evidence["changes"]), _comparable(evidence["audits"])))
        assert state.step_count == 2
    assert observations[0] == observations[1]
    assert seen[0] == seen[1]


def _key(brief: str) -> str:
    found = re.search(r"[A-Z]{2,5}-\d+", brief)
    assert found is not None
    return found[0]


def _comparable(kept: Any) -> Any:
    """Return stored data without the episode id and without the version that only forms send."""
    if isinstance(kept, dict):
        return {name: _comparable(value) for name, value in kept.items() if name not in ("cause", "if_match")}
    return [_comparable(one) for one in kept] if isinstance(kept, list) else kept


async def test_hostile_text_does_not_run_and_does_not_leave_the_apps(env: CompanyOSEnv) -> None:
    await env.reset(**TASK, modality="screenshot")
    for text in HOSTILE:
        created = await env.call_tool(
            "ticketdesk_create_ticket", title=text, type="task", team_id="procurement", description=text
        )
        address = f"/ticketdesk/tickets/{created.observation.result['key']}"
        await env.call_tool("browser_goto", address=address)
        shot = _shown((await env.call_tool("browser_click", testid="description")).observation)
        assert (shot.address, shot.title.endswith("TicketDesk")) == (address, True)
        assert not any(one.name in ("free", "Send") for one in shot.elements)


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "detail"),
    [
        ("browser_click", {"x": 1280, "y": 10}, "outside-viewport", "0 to 1279"),
        ("browser_click", {"x": -1, "y": 10}, "outside-viewport", "(-1, 10)"),
        ("browser_click", {"testid": "no-such"}, "unknown-testid", "wait-minutes"),
        ("browser_goto", {"address": "https://example.org/"}, "foreign-address", "/ is the desk"),
        ("browser_type", {"text": "Anybody?"}, "nothing-focused", "Focus"),
    ],
)
async def test_an_invalid_window_action_returns_an_error_and_uses_one_free_action(
    env: CompanyOSEnv, tool: str, arguments: dict[str, Any], code: str, detail: str
) -> None:
    before = (await env.reset(**TASK, modality="screenshot")).observation
    answer = await env.call_tool(tool, **arguments)
    assert answer.observation.result["code"] == code
    assert detail in answer.observation.result["detail"]
    assert (answer.reward, answer.done, answer.observation.steps_left) == (0.0, False, before.steps_left)
    assert _shown(answer.observation).free_actions_left == _shown(before).free_actions_left - 1
    assert (await env.state()).step_count == 0


async def test_options_are_selected_by_typing_and_texts_are_replaced(env: CompanyOSEnv) -> None:
    await env.reset(**TASK, modality="screenshot")
    await env.call_tool("browser_click", testid="finish-outcome")
    shot = _shown((await env.call_tool("browser_type", text="Refused")).observation)
    held = next(one for one in shot.elements if one.testid == "finish-outcome")
    assert (held.value, held.focused, held.options) == ("Refused", True, ("Done", "Refused", "Impossible"))
    unknown = await env.call_tool("browser_type", text="Perhaps")
    assert unknown.observation.result["code"] == "unknown-option"
    await env.call_tool("browser_press", key="Tab")
    for text, replace, expected in (("one", False, "one"), (" two", False, "one two"), ("three", True, "three")):
        shot = _shown((await env.call_tool("browser_type", text=text, replace=replace)).observation)
        assert next(one for one in shot.elements if one.focused).value == expected
    shot = _shown((await env.call_tool("browser_type", text="", replace=True)).observation)
    assert next(one for one in shot.elements if one.focused).value == ""


async def test_a_rejected_form_keeps_its_input_and_is_a_step(env: CompanyOSEnv) -> None:
    first = (await env.reset(**TASK, modality="screenshot")).observation
    await env.call_tool("browser_goto", address=f"/ticketdesk/tickets/{_key(first.brief)}")
    await env.call_tool("browser_click", testid="link_approval-approval_ref")
    await env.call_tool("browser_type", text="APR-1")
    answer = await env.call_tool("browser_press", key="Enter")
    shot = _shown(answer.observation)
    assert answer.observation.tool_name == "ticketdesk_link_approval"
    assert answer.reward == -0.4
    assert "The form keeps your input" in shot.snapshot
    assert [one.value for one in shot.elements if one.testid == "link_approval-approval_ref"] in ([], ["APR-1"])


async def test_a_window_has_the_requested_size(env: CompanyOSEnv) -> None:
    first = (await env.reset(**TASK, modality="screenshot", viewport=Viewport(width=390, height=844))).observation
    assert png_size(_shown(first).png) == (390, 844)


async def test_an_episode_is_rendered_as_an_image_in_any_modality(env: CompanyOSEnv, enterprise: str) -> None:
    async with httpx.AsyncClient(base_url=enterprise, timeout=30) as http:
        for modality in ("text", "screenshot"):
            first = (await env.reset(**TASK, modality=modality)).observation
            place = f"/v1/episodes/{(await env.state()).episode_id}/render"
            pictures = [await http.get(place, params={"format": "png"}) for _ in range(2)]
            assert pictures[0].headers["content-type"] == "image/png"
            assert pictures[0].content == pictures[1].content
            if modality == "screenshot":
                assert base64.b64encode(pictures[0].content).decode() == _shown(first).png


async def test_forked_and_restored_episodes_start_at_the_desk_with_all_free_actions(env: CompanyOSEnv) -> None:
    await env.reset(**TASK, modality="screenshot")
    await env.call_tool("browser_goto", address="/ticketdesk/")
    kept = await env.snapshot()
    await env.call_tool("wait", minutes=5)
    fork = (await env.fork(kept.id))[0]
    await env.restore(kept.id)
    seen = [_shown((await one.call_tool("browser_scroll", dy=0)).observation) for one in (fork, env)]
    assert seen[0] == seen[1]
    assert (seen[0].address, "09:00 UTC" in seen[0].snapshot) == ("/", True)
    resumed = (await env.resume()).observation
    assert _shown(resumed) == seen[1]


async def test_no_screenshot_shows_the_return(env: CompanyOSEnv) -> None:
    await env.reset(**TASK, modality="screenshot")
    over = await env.call_tool("finish", outcome="done", summary="Looked around.")
    assert over.done
    resumed = _shown((await env.resume()).observation).snapshot
    assert "The episode is over" in resumed
    assert "return" not in resumed


async def test_a_page_that_was_redrawn_in_part_looks_as_before() -> None:
    from companyos_gateway.browser.playwright_backend import Chromium
    from companyos_gateway.browser.window import capture

    chromium = Chromium(None)
    try:
        page = await (await chromium.browser()).new_page()
        await page.set_content(CARD)
        before = await capture(page)
        for _ in range(5):
            await page.evaluate(REDRAW_IN_PART)
            assert await capture(page) == before
    finally:
        await chromium.aclose()


@pytest.mark.parametrize(("refusals", "is_taken"), [(0, True), (1, True), (2, False)])
async def test_a_capture_that_chromium_refuses_is_repeated_once(refusals: int, is_taken: bool) -> None:
    from playwright.async_api import Error as PlaywrightError

    from companyos_gateway.browser.window import capture

    class RefusingPage:
        """A page whose first captures Chromium refuses, which no real page does reliably."""

        captures = 0

        async def screenshot(self, **_options: object) -> bytes:
            self.captures += 1
            if self.captures <= refusals:
                raise PlaywrightError("Protocol error (Page.captureScreenshot): Unable to capture screenshot")
            return b"png"

    page = RefusingPage()
    with nullcontext() if is_taken else pytest.raises(PlaywrightError):
        assert await capture(page) == b"png"
    assert page.captures == min(refusals + 1, 2)
