"""Browser windows: blocked requests, and recovery from browser failures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest

from companyos_gateway.browser.errors import WindowError
from tests.browser.png import PNG, png_size
from tests.gateway.conftest import NotesGateway, OpenGateway
from tests.gateway.mcp_clients import mcp_client

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.fixture
async def gateway(open_gateway: OpenGateway) -> AsyncIterator[NotesGateway]:
    """Provide an in-process gateway, so that tests can break its browser."""
    async with open_gateway(max_windows=2) as opened:
        yield opened


async def _act(gateway: NotesGateway, episode_id: str, tool: str, **arguments: Any) -> dict[str, Any]:
    observation: dict[str, Any] = (await gateway.step(episode_id, tool, **arguments))["observation"]
    return observation


async def test_scripts_in_a_window_can_only_reach_the_gateway(gateway: NotesGateway) -> None:
    begun = await gateway.reset(modality="screenshot")
    window = next(iter(gateway.runtime.window_manager._sessions.values())).window
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
    seen = await _act(gateway, begun["episode_id"], "browser_scroll", dy=0)
    assert seen["screenshot"]["address"] == "/"
    assert len(window._context.pages) == 1


async def test_a_crashed_browser_is_restarted_on_the_same_page(gateway: NotesGateway) -> None:
    episode_id = (await gateway.reset(modality="screenshot"))["episode_id"]
    before = await _act(gateway, episode_id, "browser_goto", address="/?at=desk")
    await gateway.runtime.window_manager._get_backend().chromium._browser.close()
    response = await _act(gateway, episode_id, "browser_scroll", dy=0)
    assert response["result"]["code"] == "browser-restarted"
    assert response["screenshot"] == before["screenshot"]
    again = await _act(gateway, episode_id, "browser_scroll", dy=0)
    assert again["result"] is None
    assert again["screenshot"]["free_actions_left"] == before["screenshot"]["free_actions_left"] - 1
    assert gateway.runtime.window_manager.starts == 2
    assert (await gateway.state(episode_id))["step_count"] == 0


async def test_a_step_during_which_the_browser_crashes_is_taken_once_and_reported(gateway: NotesGateway) -> None:
    episode_id = (await gateway.reset(modality="screenshot"))["episode_id"]
    await _act(gateway, episode_id, "browser_click", testid="wait-minutes-int")
    await _act(gateway, episode_id, "browser_type", text="5")
    runtime, browser = gateway.runtime, gateway.runtime.window_manager._get_backend().chromium._browser
    step = runtime.engine().step

    async def step_and_die(*args: Any, **kwargs: Any) -> Any:
        taken = await step(*args, **kwargs)
        await browser.close()
        return taken

    runtime.engine().step = step_and_die  # type: ignore[method-assign]  # fails between the step and its page
    body = {"episode_id": episode_id, "step": 1}
    action = {"tool_name": "browser_press", "arguments": {"key": "Enter"}}
    response = (await gateway.http.post("/step", json={**body, "action": action})).json()
    again = (await gateway.http.post("/step", json={**body, "action": action})).json()
    assert (response["observation"]["tool_name"], response["reward"]) == ("wait", -0.1)
    assert response["observation"]["screenshot"]["address"] == "/"
    assert again == response
    assert (await gateway.state(episode_id))["step_count"] == 1


async def test_a_page_that_crashes_uses_no_free_action(gateway: NotesGateway) -> None:
    episode_id = (await gateway.reset(modality="screenshot"))["episode_id"]
    window = next(iter(gateway.runtime.window_manager._sessions.values())).window
    assert window is not None
    asyncio.get_running_loop().create_task(_crash(window._page))
    await asyncio.sleep(0.5)
    response = await _act(gateway, episode_id, "browser_scroll", dy=0)
    assert response["result"]["code"] == "browser-restarted"
    assert (await _act(gateway, episode_id, "browser_scroll", dy=0))["result"] is None


async def _crash(page: Any) -> None:
    with suppress(Exception):
        await page.goto("chrome://crash", timeout=300)


async def test_windows_are_closed_with_their_episodes_and_limited_in_number(gateway: NotesGateway) -> None:
    first, second = [(await gateway.reset(modality="screenshot"))["episode_id"] for _ in range(2)]
    full = await gateway.http.post("/reset", json={"scenario": "note_keeping", "modality": "screenshot"})
    assert (full.status_code, full.json()["code"]) == (429, "window-limit")
    over = await gateway.step(first, "finish", outcome="impossible", summary="Looked around.")
    assert over["done"]
    assert over["observation"]["screenshot"]["address"] == "/"
    picture = (await gateway.http.get(f"/v1/episodes/{first}/render", params={"format": "png"})).content
    assert picture.startswith(PNG)
    assert gateway.runtime.window_manager.open_count == 1
    assert (await gateway.http.delete(f"/v1/episodes/{second}")).is_success
    assert gateway.runtime.window_manager.open_count == 0
    await gateway.reset(modality="screenshot")


async def test_a_window_that_opens_while_its_episode_is_dropped_is_closed(gateway: NotesGateway) -> None:
    episode_id = (await gateway.reset(modality="screenshot"))["episode_id"]
    window_manager = gateway.runtime.window_manager
    backend, session = window_manager._get_backend(), next(iter(window_manager._sessions.values()))
    await session.close_window()
    open_window = backend.open

    async def open_and_drop(*args: Any) -> Any:
        window = await open_window(*args)
        assert (await gateway.http.delete(f"/v1/episodes/{episode_id}")).is_success
        return window

    backend.open = open_and_drop  # type: ignore[method-assign,assignment]  # fails between the page and its window
    late = await gateway.post_step(episode_id, "browser_scroll", dy=0)
    assert (late.status_code, late.json()["code"]) == (409, "episode-closed")
    assert backend.chromium._browser.contexts == []


@pytest.fixture
def interceptor_class() -> Any:
    """Return RequestInterceptor, which requires Playwright."""
    from companyos_gateway.browser.request_interceptor import RequestInterceptor

    return RequestInterceptor


async def test_a_window_that_cannot_be_opened_leaves_no_resources_open(
    gateway: NotesGateway, monkeypatch: pytest.MonkeyPatch, interceptor_class: Any
) -> None:
    episode_id = (await gateway.reset(modality="screenshot"))["episode_id"]
    window_manager = gateway.runtime.window_manager
    await next(iter(window_manager._sessions.values())).close_window()

    async def fail(*_: Any) -> None:
        raise WindowError("It did not answer")

    monkeypatch.setattr(interceptor_class, "start", fail)
    answer = await gateway.post_step(episode_id, "browser_scroll", dy=0)
    assert (answer.status_code, answer.json()["code"]) == (503, "browser-unavailable")
    assert window_manager._get_backend().chromium._browser.contexts == []


async def test_a_window_that_opens_at_the_second_attempt_is_shown(
    gateway: NotesGateway, monkeypatch: pytest.MonkeyPatch, interceptor_class: Any
) -> None:
    episode_id = (await gateway.reset(modality="screenshot"))["episode_id"]
    await next(iter(gateway.runtime.window_manager._sessions.values())).close_window()
    start = interceptor_class.start

    async def fail_once(requests: Any) -> None:
        monkeypatch.setattr(interceptor_class, "start", start)
        raise WindowError("It did not answer")

    monkeypatch.setattr(interceptor_class, "start", fail_once)
    seen = await _act(gateway, episode_id, "browser_scroll", dy=0)
    assert seen["result"] is None
    assert gateway.runtime.window_manager.open_count == 1


async def test_mcp_returns_the_screenshot_as_image_content(gateway: NotesGateway) -> None:
    episode_id = (await gateway.reset(modality="screenshot"))["episode_id"]
    async with mcp_client(gateway.app, f"/v1/episodes/{episode_id}/mcp") as client:
        assert "browser_click" in [tool.name for tool in await client.list_tools()]
        response = await client.call_tool("browser_click", {"testid": "finish-summary"})
    content: list[Any] = list(response.content)
    text, picture = content
    assert png_size(picture.data) == (1280, 800)
    assert picture.mimeType == "image/png"
    assert response.structured_content is not None
    assert "png" not in response.structured_content["screenshot"]
    assert len(text.text) < 20_000


async def test_no_free_action_is_available_after_the_last_one(gateway: NotesGateway) -> None:
    episode_id = (await gateway.reset(modality="screenshot"))["episode_id"]
    next(iter(gateway.runtime.window_manager._sessions.values())).free_actions_left = 1
    last = await _act(gateway, episode_id, "browser_scroll", dy=5)
    spent = await gateway.step(episode_id, "browser_scroll", dy=5)
    assert (last["result"], last["screenshot"]["free_actions_left"]) == (None, 0)
    assert (spent["observation"]["result"]["code"], spent["reward"]) == ("no-free-actions-left", -0.4)
    assert (await gateway.state(episode_id))["step_count"] == 1
