"""Episodes that are played by looking: pictures, clicks that are steps, and a browser that is nobody's fault."""

from __future__ import annotations

import asyncio
import base64
import re
import struct
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
from examples.screenshot_agent import TASK, main

from companyos.client import CompanyOSEnv
from companyos.contract import Outcome, Screenshot, Viewport
from companyos_gateway.server.screens.errors import WindowFailed
from tests.gateway.conftest import Door, Open
from tests.gateway.mcp_clients import mcp_client

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

PNG = b"\x89PNG\r\n\x1a\n"
PAGES = ("/", "/ticketdesk/", "/ticketdesk/board", "/datahub/", "/datahub/organisation", "/approvalflow/submit")
HOSTILE = (
    "</title><script>location='http://example.org/'</script>",
    "<img src=x onerror=\"location='/console'\">",
    '"><a href="http://example.org/" autofocus onfocus=location=this.href>free</a>',
    '<meta http-equiv="refresh" content="0;url=http://example.org/">',
    '<form action="http://example.org/"><button>Send</button></form>',
    "javascript:alert(1)",
)


def _size_of(png: str) -> tuple[int, int]:
    raw = base64.b64decode(png)
    assert raw.startswith(PNG)
    width, height = struct.unpack(">II", raw[16:24])
    return width, height


def _shown(observation: Any) -> Screenshot:
    assert isinstance(observation.screenshot, Screenshot)
    return observation.screenshot


@pytest.fixture
async def env(enterprise: str) -> AsyncIterator[CompanyOSEnv]:
    """A client of the enterprise."""
    async with CompanyOSEnv(base_url=enterprise) as client:
        yield client


def test_an_agent_that_only_looks_clicks_and_types_renews_a_licence(enterprise: str) -> None:
    state = main(enterprise)
    assert (state.outcome, state.success) == (Outcome.SUCCESS, True)


async def test_two_screenshots_of_one_state_are_the_same_bytes(env: CompanyOSEnv) -> None:
    seen: list[list[str]] = []
    for _ in range(2):
        pages = [_shown((await env.reset(**TASK, modality="screenshot")).observation)]
        for address in PAGES:
            pages.append(_shown((await env.call_tool("browser_goto", address=address)).observation))
            pages.append(_shown((await env.call_tool("browser_click", x=640, y=30)).observation))
        seen.append([page.model_dump_json() for page in pages])
    assert seen[0] == seen[1]
    assert len(set(seen[0])) > len(PAGES)


async def test_a_form_in_the_window_is_the_step_that_the_tool_call_is(env: CompanyOSEnv, enterprise: str) -> None:
    told, seen = [], []
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
        told.append((answer.observation.model_dump(exclude={"screenshot"}), answer.reward, state.return_, state.now))
        async with httpx.AsyncClient(base_url=enterprise, timeout=30) as http:
            evidence = (await http.get(f"/v1/episodes/{state.episode_id}/evidence")).json()
        seen.append((_comparable(evidence["changes"]), _comparable(evidence["audits"])))
        assert state.step_count == 2
    assert told[0] == told[1]
    assert seen[0] == seen[1]


def _key(brief: str) -> str:
    found = re.search(r"[A-Z]{2,5}-\d+", brief)
    assert found is not None
    return found[0]


def _comparable(kept: Any) -> Any:
    """Return what is kept without the name of the episode, and without the version that only a form says it saw."""
    if isinstance(kept, dict):
        return {name: _comparable(value) for name, value in kept.items() if name not in ("cause", "if_match")}
    return [_comparable(one) for one in kept] if isinstance(kept, list) else kept


async def test_hostile_text_neither_runs_nor_leads_away(env: CompanyOSEnv) -> None:
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
    ("tool", "arguments", "code", "told"),
    [
        ("browser_click", {"x": 1280, "y": 10}, "outside-viewport", "0 to 1279"),
        ("browser_click", {"x": -1, "y": 10}, "outside-viewport", "(-1, 10)"),
        ("browser_click", {"testid": "no-such"}, "unknown-testid", "wait-minutes"),
        ("browser_goto", {"address": "https://example.org/"}, "foreign-address", "/ is the desk"),
        ("browser_type", {"text": "Anybody?"}, "nothing-focused", "focus"),
    ],
)
async def test_what_a_window_does_not_take_is_said_and_is_a_look(
    env: CompanyOSEnv, tool: str, arguments: dict[str, Any], code: str, told: str
) -> None:
    before = (await env.reset(**TASK, modality="screenshot")).observation
    answer = await env.call_tool(tool, **arguments)
    assert answer.observation.result["code"] == code
    assert told in answer.observation.result["detail"]
    assert (answer.reward, answer.done, answer.observation.steps_left) == (0.0, False, before.steps_left)
    assert _shown(answer.observation).looks_left == _shown(before).looks_left - 1
    assert (await env.state()).step_count == 0


async def test_lists_are_chosen_from_by_typing_and_texts_replaced(env: CompanyOSEnv) -> None:
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


async def test_a_refused_form_comes_back_with_what_was_typed_and_is_a_step(env: CompanyOSEnv) -> None:
    first = (await env.reset(**TASK, modality="screenshot")).observation
    await env.call_tool("browser_goto", address=f"/ticketdesk/tickets/{_key(first.brief)}")
    await env.call_tool("browser_click", testid="link_approval-approval_ref")
    await env.call_tool("browser_type", text="APR-1")
    answer = await env.call_tool("browser_press", key="Enter")
    shot = _shown(answer.observation)
    assert answer.observation.tool_name == "ticketdesk_link_approval"
    assert answer.reward == -0.4
    assert "What you typed is still in the form" in shot.snapshot
    assert [one.value for one in shot.elements if one.testid == "link_approval-approval_ref"] in ([], ["APR-1"])


async def test_a_window_is_as_large_as_was_asked(env: CompanyOSEnv) -> None:
    first = (await env.reset(**TASK, modality="screenshot", viewport=Viewport(width=390, height=844))).observation
    assert _size_of(_shown(first).png) == (390, 844)


async def test_an_episode_is_rendered_as_a_picture_in_any_modality(env: CompanyOSEnv, enterprise: str) -> None:
    async with httpx.AsyncClient(base_url=enterprise, timeout=30) as http:
        for modality in ("text", "screenshot"):
            first = (await env.reset(**TASK, modality=modality)).observation
            place = f"/v1/episodes/{(await env.state()).episode_id}/render"
            pictures = [await http.get(place, params={"format": "png"}) for _ in range(2)]
            assert pictures[0].headers["content-type"] == "image/png"
            assert pictures[0].content == pictures[1].content
            if modality == "screenshot":
                assert base64.b64encode(pictures[0].content).decode() == _shown(first).png


async def test_a_fork_and_an_episode_put_back_begin_at_the_desk_with_every_look(env: CompanyOSEnv) -> None:
    await env.reset(**TASK, modality="screenshot")
    await env.call_tool("browser_goto", address="/ticketdesk/")
    kept = await env.snapshot()
    await env.call_tool("wait", minutes=5)
    fork = (await env.fork(kept.id))[0]
    await env.restore(kept.id)
    seen = [_shown((await one.call_tool("browser_scroll", dy=0)).observation) for one in (fork, env)]
    assert seen[0] == seen[1]
    assert (seen[0].address, "09:00 UTC" in seen[0].snapshot) == ("/", True)
    went_on = (await env.resume()).observation
    assert _shown(went_on) == seen[1]


async def test_what_an_episode_earned_is_in_no_picture(env: CompanyOSEnv) -> None:
    await env.reset(**TASK, modality="screenshot")
    over = await env.call_tool("finish", outcome="done", summary="Looked around.")
    assert over.done
    anew = _shown((await env.resume()).observation).snapshot
    assert "The episode is over" in anew
    assert "return" not in anew


@pytest.fixture
async def door(open_door: Open) -> AsyncIterator[Door]:
    """A gateway in this process, so that its browser can be broken."""
    async with open_door(max_windows=2) as opened:
        yield opened


async def _look(door: Door, episode_id: str, tool: str, **arguments: Any) -> dict[str, Any]:
    observation: dict[str, Any] = (await door.step(episode_id, tool, **arguments))["observation"]
    return observation


async def test_a_window_asks_nobody_but_the_house_whatever_runs_in_it(door: Door) -> None:
    begun = await door.reset(modality="screenshot")
    window = next(iter(door.house.screens._sights.values())).window
    assert window is not None
    for script in (
        "location.href = 'http://example.org/'",
        "location.href = '/console'",
        "location.href = '/v1/episodes/other/apps'",
        "window.open('/v1/tools')",
        "document.body.insertAdjacentHTML('beforeend', '<img src=http://127.0.0.1:1/x.png>')",
    ):
        await window._page.evaluate(script)
    for url in ("http://example.org/", "/v1/tools", "/state"):
        assert await window._page.evaluate(f"fetch('{url}').then((answer) => answer.status, () => 'refused')") in (
            204,
            "refused",
        )
    seen = await _look(door, begun["episode_id"], "browser_scroll", dy=0)
    assert seen["screenshot"]["address"] == "/"
    assert len(window._context.pages) == 1


async def test_a_browser_that_dies_is_started_again_where_it_was(door: Door) -> None:
    episode_id = (await door.reset(modality="screenshot"))["episode_id"]
    before = await _look(door, episode_id, "browser_goto", address="/?at=desk")
    await door.house.screens._looking_glass().chromium._browser.close()
    told = await _look(door, episode_id, "browser_scroll", dy=0)
    assert told["result"]["code"] == "browser-restarted"
    assert told["screenshot"] == before["screenshot"]
    again = await _look(door, episode_id, "browser_scroll", dy=0)
    assert again["result"] is None
    assert again["screenshot"]["looks_left"] == before["screenshot"]["looks_left"] - 1
    assert door.house.screens.starts == 2
    assert (await door.state(episode_id))["step_count"] == 0


async def test_a_step_during_which_the_browser_dies_is_taken_once_and_told(door: Door) -> None:
    episode_id = (await door.reset(modality="screenshot"))["episode_id"]
    await _look(door, episode_id, "browser_click", testid="wait-minutes-int")
    await _look(door, episode_id, "browser_type", text="5")
    house, browser = door.house, door.house.screens._looking_glass().chromium._browser
    step = house.stage().step

    async def step_and_die(*given: Any, **named: Any) -> Any:
        taken = await step(*given, **named)
        await browser.close()
        return taken

    house.stage().step = step_and_die  # type: ignore[method-assign]  # the moment between the step and its page
    body = {"episode_id": episode_id, "step": 1}
    action = {"tool_name": "browser_press", "arguments": {"key": "Enter"}}
    told = (await door.http.post("/step", json={**body, "action": action})).json()
    again = (await door.http.post("/step", json={**body, "action": action})).json()
    assert (told["observation"]["tool_name"], told["reward"]) == ("wait", -0.1)
    assert told["observation"]["screenshot"]["address"] == "/"
    assert again == told
    assert (await door.state(episode_id))["step_count"] == 1


async def test_a_page_that_breaks_costs_no_look(door: Door) -> None:
    episode_id = (await door.reset(modality="screenshot"))["episode_id"]
    window = next(iter(door.house.screens._sights.values())).window
    assert window is not None
    asyncio.get_running_loop().create_task(_crash(window._page))
    await asyncio.sleep(0.5)
    told = await _look(door, episode_id, "browser_scroll", dy=0)
    assert told["result"]["code"] == "browser-restarted"
    assert (await _look(door, episode_id, "browser_scroll", dy=0))["result"] is None


async def _crash(page: Any) -> None:
    with suppress(Exception):
        await page.goto("chrome://crash", timeout=300)


async def test_windows_are_closed_with_their_episodes_and_no_more_are_open_than_may_be(door: Door) -> None:
    first, second = [(await door.reset(modality="screenshot"))["episode_id"] for _ in range(2)]
    full = await door.http.post("/reset", json={"scenario": "note_keeping", "modality": "screenshot"})
    assert (full.status_code, full.json()["code"]) == (429, "windows-full")
    over = await door.step(first, "finish", outcome="impossible", summary="Looked around.")
    assert over["done"]
    assert over["observation"]["screenshot"]["address"] == "/"
    picture = (await door.http.get(f"/v1/episodes/{first}/render", params={"format": "png"})).content
    assert picture.startswith(PNG)
    assert door.house.screens.windows == 1
    assert (await door.http.delete(f"/v1/episodes/{second}")).is_success
    assert door.house.screens.windows == 0
    await door.reset(modality="screenshot")


async def test_a_window_that_opens_while_its_episode_is_dropped_is_closed(door: Door) -> None:
    episode_id = (await door.reset(modality="screenshot"))["episode_id"]
    screens = door.house.screens
    glass, sight = screens._looking_glass(), next(iter(screens._sights.values()))
    await sight.lose()
    open_window = glass.open

    async def open_and_drop(*given: Any) -> Any:
        window = await open_window(*given)
        assert (await door.http.delete(f"/v1/episodes/{episode_id}")).is_success
        return window

    glass.open = open_and_drop  # type: ignore[method-assign,assignment]  # the moment between the page and its window
    late = await door.post_step(episode_id, "browser_scroll", dy=0)
    assert (late.status_code, late.json()["code"]) == (409, "episode-closed")
    assert glass.chromium._browser.contexts == []


@pytest.fixture
def watching() -> Any:
    """What watches over a window's requests; it is there where Playwright is."""
    from companyos_gateway.server.screens.requests import Requests

    return Requests


async def test_a_window_that_cannot_be_opened_leaves_nothing_of_it_open(
    door: Door, monkeypatch: pytest.MonkeyPatch, watching: Any
) -> None:
    episode_id = (await door.reset(modality="screenshot"))["episode_id"]
    screens = door.house.screens
    await next(iter(screens._sights.values())).lose()

    async def fail(*_: Any) -> None:
        raise WindowFailed("It did not answer")

    monkeypatch.setattr(watching, "watch", fail)
    answer = await door.post_step(episode_id, "browser_scroll", dy=0)
    assert (answer.status_code, answer.json()["code"]) == (503, "browser-unavailable")
    assert screens._looking_glass().chromium._browser.contexts == []


async def test_a_window_that_opens_at_the_second_try_is_shown(
    door: Door, monkeypatch: pytest.MonkeyPatch, watching: Any
) -> None:
    episode_id = (await door.reset(modality="screenshot"))["episode_id"]
    await next(iter(door.house.screens._sights.values())).lose()
    watch = watching.watch

    async def fail_once(requests: Any) -> None:
        monkeypatch.setattr(watching, "watch", watch)
        raise WindowFailed("It did not answer")

    monkeypatch.setattr(watching, "watch", fail_once)
    seen = await _look(door, episode_id, "browser_scroll", dy=0)
    assert seen["result"] is None
    assert door.house.screens.windows == 1


async def test_over_mcp_the_picture_is_a_content_of_its_own(door: Door) -> None:
    episode_id = (await door.reset(modality="screenshot"))["episode_id"]
    async with mcp_client(door.app, f"/v1/episodes/{episode_id}/mcp") as client:
        assert "browser_click" in [tool.name for tool in await client.list_tools()]
        told = await client.call_tool("browser_click", {"testid": "finish-summary"})
    content: list[Any] = list(told.content)
    text, picture = content
    assert _size_of(picture.data) == (1280, 800)
    assert picture.mimeType == "image/png"
    assert told.structured_content is not None
    assert "png" not in told.structured_content["screenshot"]
    assert len(text.text) < 20_000


async def test_the_last_look_is_the_last_one(door: Door) -> None:
    episode_id = (await door.reset(modality="screenshot"))["episode_id"]
    next(iter(door.house.screens._sights.values())).looks_left = 1
    last = await _look(door, episode_id, "browser_scroll", dy=5)
    spent = await door.step(episode_id, "browser_scroll", dy=5)
    assert (last["result"], last["screenshot"]["looks_left"]) == (None, 0)
    assert (spent["observation"]["result"]["code"], spent["reward"]) == ("no-looks-left", -0.4)
    assert (await door.state(episode_id))["step_count"] == 1
