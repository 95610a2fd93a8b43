"""Episodes with the modality `screenshot`, tested without a browser: options, tools, addresses, budgets and errors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from companyos.contract import Modality, ResetOptions
from companyos.extras import install_command
from companyos_gateway.browser.app_urls import ORIGIN, AppUrls
from companyos_gateway.browser.browser_session import WindowSession
from companyos_gateway.browser.chromium_path import find_chromium
from companyos_gateway.browser.errors import INSTALL_CHROMIUM, ActionRejectedError
from companyos_gateway.browser.page_actions import check_arguments
from companyos_gateway.engine.browser_tools import (
    BROWSER_TOOLS,
    CLICK,
    FREE_ACTIONS_PER_STEP,
    GOTO,
    PRESS,
    SCROLL,
    TYPE,
)
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.errors import BrowserMissingError, BrowserUnavailableError, StepConflictError
from companyos_gateway.engine.toolbox import InvalidArgumentsError
from companyos_gateway.viewer.episode_source import episode_key
from companyos_gateway.viewer.screenshot_files import ScreenshotFiles
from tests.gateway.conftest import NotesGateway, OpenGateway, problem

PLAYWRIGHT = "companyos_gateway.browser.playwright_backend"
ROOT = "/v1/episodes/abc/apps"


@pytest.fixture
def without_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make Playwright unavailable, as without the extra `browser`."""
    for name in [name for name in sys.modules if name.startswith(("playwright", PLAYWRIGHT))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "playwright", None)


async def _begun(gateway: NotesGateway) -> Episode:
    """Start a screenshot episode directly in the engine, as the route would require a browser."""
    options = ResetOptions(scenario="note_keeping", seed=1, modality=Modality.SCREENSHOT)
    return await gateway.runtime.engine().reset(options)


async def test_without_the_extra_a_reset_is_rejected_with_the_install_command(
    gateway: NotesGateway, without_extra: None
) -> None:
    body = {"scenario": "note_keeping", "modality": "screenshot"}
    answer = await gateway.http.post("/reset", json=body)
    assert answer.status_code == 409
    assert answer.json()["code"] == "browser-missing"
    assert install_command("browser") in answer.json()["detail"]
    assert len(gateway.runtime.engine().store) == 0


async def test_without_the_extra_only_png_rendering_is_unavailable(gateway: NotesGateway, without_extra: None) -> None:
    episode_id = await gateway.begin()
    picture = await gateway.http.get(f"/v1/episodes/{episode_id}/render", params={"format": "png"})
    assert problem(picture) == (409, "browser-missing")
    assert (await gateway.http.get(f"/v1/episodes/{episode_id}/render", params={"format": "html"})).status_code == 200


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"modality": "pictures"}, "modality"),
        ({"viewport": {}}, "reset"),
        ({"modality": "screenshot", "viewport": {"width": 319}}, "viewport.width"),
        ({"modality": "screenshot", "viewport": {"height": 1921}}, "viewport.height"),
        ({"modality": "screenshot", "viewport": {"width": 800, "depth": 3}}, "viewport.depth"),
        ({"modality": "screenshot", "viewport": {"width": "800"}}, "viewport.width"),
    ],
)
async def test_an_invalid_window_is_rejected(gateway: NotesGateway, options: dict[str, Any], place: str) -> None:
    answer = await gateway.http.post("/reset", json={"scenario": "note_keeping", **options})
    assert problem(answer) == (422, "invalid-reset")
    assert [error["place"] for error in answer.json()["errors"]] == [place]


async def test_a_text_episode_has_no_window_and_no_browser_tools(gateway: NotesGateway) -> None:
    begun = await gateway.reset()
    seen = await gateway.step(begun["episode_id"], CLICK, x=1, y=1)
    listed = await gateway.http.get("/v1/tools", params={"episode_id": begun["episode_id"]})
    assert "screenshot" not in begun["observation"] | seen["observation"]
    assert seen["observation"]["error"]["error_type"] == "tool_not_found"
    assert not set(BROWSER_TOOLS) & {tool["name"] for tool in listed.json()}


async def test_the_browser_tools_are_listed_after_the_others(gateway: NotesGateway) -> None:
    engine = gateway.runtime.engine()
    episode = await _begun(gateway)
    of_all, of_episode = [tool.name for tool in engine.tools(None)], [tool.name for tool in engine.tools(episode)]
    assert of_episode == of_all + list(BROWSER_TOOLS)
    assert not any({"oneOf", "anyOf", "allOf"} & set(tool.input_schema) for tool in BROWSER_TOOLS.values())


async def test_without_free_actions_browser_calls_are_steps_that_cost_reward(
    gateway: NotesGateway, without_extra: None
) -> None:
    episode = await _begun(gateway)
    gateway.runtime.window_manager._session(episode).free_actions_left = 0
    rewards = []
    for left in reversed(range(episode.steps_left)):
        seen = await gateway.runtime.step(episode, SCROLL, {"dy": 10})
        rewards.append(seen.reward)
        assert seen.result["code"] == "no-free-actions-left"
        assert (seen.steps_left, seen.done) == (left, left == 0)
    assert rewards[0] == -0.4
    assert (await gateway.state(episode.id))["outcome"] == "out_of_steps"


async def test_screenshots_of_an_episode_are_listed_once_each_and_kept_after_its_end(
    gateway: NotesGateway,
) -> None:
    episode = await _begun(gateway)
    for png in (b"start", b"start", b"form"):
        gateway.runtime.metrics.record_screenshot(episode, png)
    path = f"/console/episodes/{episode.id}"
    listed = (await gateway.http.get(f"{path}/screenshots")).json()
    assert listed == [{"step": 0, "url": f"{path}/screenshots/{number}.png"} for number in (1, 2)]
    shown = await gateway.http.get(listed[1]["url"])
    assert (shown.headers["content-type"], shown.content) == ("image/png", b"form")
    assert (await gateway.http.get(f"{path}/screenshots/3.png")).status_code == 404
    assert (await gateway.http.get(f"{path}/document")).json()["facts"]["screenshots"] == f"{path}/screenshots"
    await gateway.http.delete(f"/v1/episodes/{episode.id}")
    assert (await gateway.http.get(listed[1]["url"])).content == b"form"
    text = await gateway.begin()
    assert (await gateway.http.get(f"/console/episodes/{text}/document")).json()["facts"]["screenshots"] is None


async def test_a_screenshot_taken_after_its_episode_was_deleted_is_not_stored(
    open_gateway: OpenGateway,
) -> None:
    async with open_gateway(max_finished=0) as gateway:
        episode = await _begun(gateway)
        gateway.runtime.metrics.record_screenshot(episode, b"start")
        await gateway.http.delete(f"/v1/episodes/{episode.id}")
        gateway.runtime.metrics.record_screenshot(episode, b"late")
        assert gateway.runtime.metrics.finished is not None
        assert gateway.runtime.metrics.finished.screenshots.list_all(episode_key(episode)) == []


async def test_screenshots_before_a_restore_are_deleted(gateway: NotesGateway) -> None:
    episode = await _begun(gateway)
    taken = await gateway.snapshot(episode.id)
    gateway.runtime.metrics.record_screenshot(episode, b"before")
    await gateway.restore(episode.id, taken)
    assert (await gateway.http.get(f"/console/episodes/{episode.id}/screenshots")).json() == []


def test_over_the_limit_the_episode_with_the_oldest_last_screenshot_loses_all(tmp_path: Path) -> None:
    stored = ScreenshotFiles(tmp_path / "shown", max_bytes=10)
    stored.add("a", 0, b"1234")
    stored.add("b", 0, b"1234")
    stored.add("a", 1, b"5")
    assert [len(stored.list_all(key)) for key in "ab"] == [2, 1]
    stored.add("c", 0, b"1234")
    assert [len(stored.list_all(key)) for key in "abc"] == [2, 0, 1]
    assert sorted(path.parent.name for path in (tmp_path / "shown").rglob("*.png")) == ["a", "a", "c"]


async def test_an_episode_has_free_actions_for_every_step(gateway: NotesGateway) -> None:
    episode = await _begun(gateway)
    assert (
        WindowSession.from_episode(episode).free_actions_left == FREE_ACTIONS_PER_STEP * episode.task.instance.max_steps
    )


async def test_the_step_number_prevents_sending_a_form_twice(gateway: NotesGateway) -> None:
    episode = await _begun(gateway)
    session = WindowSession.from_episode(episode)
    assert session.find_repeat(episode, CLICK, {"testid": "save"}, None) is None
    assert session.find_repeat(episode, CLICK, {"testid": "save"}, 1) is None
    for number in (0, 2):
        with pytest.raises(StepConflictError):
            session.find_repeat(episode, CLICK, {"testid": "save"}, number)


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("/", ROOT),
        ("/ticketdesk/", f"{ROOT}/ticketdesk/"),
        ("/datahub/?q=a%20b#find", f"{ROOT}/datahub/?q=a%20b#find"),
        (f"{ROOT}/ticketdesk/new", f"{ROOT}/ticketdesk/new"),
        (f"{ORIGIN}{ROOT}", ROOT),
    ],
)
def test_an_address_of_the_apps_is_resolved(address: str, url: str) -> None:
    assert AppUrls("abc").to_url(address) == f"{ORIGIN}{url}"


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org/",
        "http://companyos.example.org/",
        "//example.org/",
        "/\\example.org",
        "javascript:alert(1)",
        "data:text/html,hi",
        "file:///etc/passwd",
        "about:blank",
        "ticketdesk/",
        "/../../../console",
        "/%2e%2e/%2e%2e/console",
        "/ticketdesk/..%2f..%2fconsole",
        "/ticketdesk/\n/x",
        f"{ORIGIN}/console",
        f"{ORIGIN}@example.org/",
    ],
)
def test_an_address_outside_of_the_apps_is_rejected(address: str) -> None:
    with pytest.raises(ActionRejectedError) as refused:
        AppUrls("abc").to_url(address)
    assert refused.value.body.code == "foreign-address"


@pytest.mark.parametrize(
    "url",
    [
        f"{ORIGIN}/v1/episodes/abcd/apps",
        f"{ORIGIN}/v1/episodes/abc/appsx",
        f"{ORIGIN}/v1/episodes/abc/state",
        f"{ORIGIN}:81{ROOT}/",
        f"https://companyos{ROOT}/",
        f"http://example.org{ROOT}/",
    ],
)
def test_a_window_does_not_open_other_urls(url: str) -> None:
    app_urls = AppUrls("abc")
    assert not app_urls.contains(url)
    assert not app_urls.is_asset(url)


def test_text_for_the_agent_contains_no_episode_id() -> None:
    text = AppUrls("abc").strip_root(f"/url: {ROOT}/datahub/ /url: {ROOT}")
    assert text == "/url: /datahub/ /url: /"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (CLICK, {}),
        (CLICK, {"x": 1}),
        (CLICK, {"x": 1, "y": 2, "testid": "save"}),
        (CLICK, {"x": "1", "y": 2}),
        (CLICK, {"testid": ""}),
        (TYPE, {}),
        (TYPE, {"text": "a" * 20_001}),
        (PRESS, {"key": "F12"}),
        (SCROLL, {"dy": 1, "x": 2}),
        (SCROLL, {"dy": 10**9}),
        (GOTO, {"address": ""}),
        (GOTO, {"address": "/", "wait": True}),
    ],
)
def test_invalid_arguments_are_rejected_with_the_reason(tool: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentsError, match=r"must|required|unknown"):
        check_arguments(tool, arguments)


def test_the_configured_chromium_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named, own = tmp_path / "named", tmp_path / "own"
    with pytest.raises(BrowserMissingError, match="path of a file"):
        find_chromium(named, own)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BrowserMissingError, match=INSTALL_CHROMIUM):
        find_chromium(None, own)
    on_path = tmp_path / "chromium"
    on_path.write_text("")
    on_path.chmod(0o755)
    assert find_chromium(None, own) == on_path
    own.write_text("")
    assert find_chromium(None, own) == own
    named.write_text("")
    assert find_chromium(named, own) == named


async def test_a_reset_whose_screenshot_fails_leaves_no_episode(
    gateway: NotesGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def succeed(_previous: Episode | None = None) -> None: ...

    async def fail(_episode: Episode) -> None:
        raise BrowserUnavailableError

    monkeypatch.setattr(gateway.runtime.window_manager, "check_ready", succeed)
    monkeypatch.setattr(gateway.runtime.window_manager, "last_observation", fail)
    body = {"scenario": "note_keeping", "modality": "screenshot", "episode_id": "mine"}
    for path in ("/reset", "/v1/episodes"):
        assert problem(await gateway.http.post(path, json=body)) == (503, "browser-unavailable")
        assert len(gateway.runtime.engine().store) == 0


async def test_a_resume_whose_screenshot_fails_keeps_the_episode(
    gateway: NotesGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_episode: Episode) -> None:
        raise BrowserUnavailableError

    episode = await _begun(gateway)
    monkeypatch.setattr(gateway.runtime.window_manager, "last_observation", fail)
    assert (await gateway.http.post("/reset", json={"resume": episode.token})).status_code == 503
    assert not episode.closed
