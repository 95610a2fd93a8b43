"""Page views of an agent: their number, the requests that use one, and the error when none is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from companyos.contract import ResetOptions
from companyos_gateway.browser.asgi_client import AsgiClient
from companyos_gateway.engine.episode import FREE_PAGE_VIEWS, Episode
from companyos_gateway.engine.errors import NoPageViewsLeftError
from companyos_gateway.engine.inspection import fetch_page
from companyos_gateway.page_paths import desk_root
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.settings import Settings
from companyos_gateway.ui.desk.routes import build_in_process_app
from companyos_gateway.ui.desk.service_pages import build_page_call
from companyos_shared.pages import Shell
from tests.ui.conftest import OpenBrowser
from tests.ui.http_browser import Browser
from verification.in_process import in_process_service_clients

TRAINER = "trainer-token-of-some-length"
AUTHORIZED = {"Authorization": f"Bearer {TRAINER}"}
OPTIONS: dict[str, Any] = {"scenario": "vendor_onboarding", "seed": 3, "chaos": 0}
CODE = NoPageViewsLeftError.code


async def _open_until_refused(browser: Browser) -> int:
    """Open the smallest page until an error, and return the number of opened pages."""
    for opened in range(FREE_PAGE_VIEWS + 2):
        if (await browser.open("/ticketdesk/new")).status_code != 200:
            return opened
    raise AssertionError("no page was refused")


@pytest.mark.parametrize("trainer", [None, TRAINER], ids=["without tokens", "with an episode token"])
async def test_an_agent_has_a_limited_number_of_page_views_and_one_more_for_each_step(
    open_browser: OpenBrowser, trainer: str | None
) -> None:
    async with open_browser(trainer_token=trainer) as browser:
        episode_id = (await browser.reset(**OPTIONS, **({"trainer": trainer} if trainer else {})))["episode_id"]
        headers = AUTHORIZED if trainer else {}
        before = (await browser.client.get("/state", params={"episode_id": episode_id}, headers=headers)).json()
        assert await _open_until_refused(browser) == FREE_PAGE_VIEWS
        assert (await browser.client.get("/state", params={"episode_id": episode_id}, headers=headers)).json() == before
        assert (await browser.open("")).status_code == 200
        assert browser.text_of("page-views-left").startswith("0 ")
        await browser.submit("wait", minutes__int="5")
        assert browser.text_of("page-views-left").startswith("1 ")
        assert [(await browser.open("/ticketdesk/")).status_code for _ in range(2)] == [200, 409]


async def test_exceeding_the_limit_gets_a_page_for_browsers_and_a_problem_for_json_clients(browser: Browser) -> None:
    await browser.reset(**OPTIONS)
    await _open_until_refused(browser)
    assert browser.page.headers["content-type"].startswith("text/html")
    assert CODE in browser.page.text
    refused = await browser.client.get(
        f"{browser.root}/ticketdesk/", headers={"Accept": "application/problem+json, application/json"}
    )
    assert refused.headers["content-type"] == "application/problem+json"
    assert (refused.status_code, refused.json()["code"]) == (409, CODE)
    assert str(FREE_PAGE_VIEWS) in refused.json()["detail"]
    shown = await browser.client.get(f"{browser.root}/ticketdesk/", headers={"Accept": "text/html, application/json"})
    assert shown.headers["content-type"].startswith("text/html")


async def test_opening_an_id_takes_one_page_view(browser: Browser) -> None:
    await browser.reset(**OPTIONS)
    key = browser.page.text.partition("/-/open?id=")[2].partition('"')[0]
    assert (await browser.open(f"/-/open?id={key}")).url.path.endswith(f"/ticketdesk/tickets/{key}")
    await browser.open("")
    assert browser.text_of("page-views-left").startswith(f"{FREE_PAGE_VIEWS - 1} ")


async def test_a_form_requires_no_page_view_and_shows_its_own_errors(browser: Browser) -> None:
    await browser.reset(**OPTIONS)
    await _open_until_refused(browser)
    form = {"title": "x" * 5_000, "_page": "new"}
    refused = await browser.client.post(f"{browser.root}/ticketdesk/-/create_ticket", data=form)
    assert refused.status_code == 422
    assert 'data-testid="create_ticket"' in refused.text
    await browser.open("")
    assert browser.text_of("page-views-left").startswith("1 ")


async def test_pages_of_a_finished_episode_are_not_limited(browser: Browser) -> None:
    await browser.reset(**OPTIONS)
    await _open_until_refused(browser)
    await browser.open("")
    await browser.submit("finish", outcome="impossible", summary="I give up.")
    for _ in range(2):
        assert (await browser.open("/ticketdesk/new")).status_code == 200


async def test_pages_opened_by_a_trainer_are_neither_counted_nor_known_to_the_agent(open_browser: OpenBrowser) -> None:
    async with open_browser(trainer_token=TRAINER) as browser:
        episode_id = (await browser.reset(**OPTIONS, trainer=TRAINER))["episode_id"]
        browser.client.cookies.clear()
        for path in [*["ticketdesk/new"] * FREE_PAGE_VIEWS, "datahub/vendors"]:
            page = await browser.client.get(f"{browser.root}/{path}", headers=AUTHORIZED)
            assert page.status_code == 200
        evidence = f"/v1/episodes/{episode_id}/evidence"
        assert (await browser.client.get(evidence, headers=AUTHORIZED)).json()["views"] == []


async def test_pages_in_the_window_of_a_browser_tool_are_known_and_not_counted_again(tmp_path: Path) -> None:
    with in_process_service_clients(tmp_path) as service_clients:
        runtime = GatewayRuntime(Settings(), service_clients=service_clients)
        async with runtime.running():
            episode = await runtime.engine().reset(ResetOptions(**OPTIONS))
            window = AsgiClient(build_in_process_app(runtime))
            for _ in range(2):
                page = await window.fetch(episode, "GET", f"{desk_root(episode.id, '')}/datahub/vendors")
                assert page.status == 200
            assert episode.evidence.as_json()["views"]
            assert episode.page_views_left == FREE_PAGE_VIEWS


async def test_page_views_are_counted_over_forks_restores_and_restarts(tmp_path: Path) -> None:
    async def open_pages(runtime: GatewayRuntime, episode: Episode, count: int) -> None:
        call = build_page_call("vendors", "", Shell(app="datahub", title="DataHub"))
        for _ in range(count):
            assert (await fetch_page(runtime.engine().service_clients, episode, "datahub", call)).status == 200

    with in_process_service_clients(tmp_path / "services") as service_clients:
        settings = Settings(data_dir=tmp_path / "gateway")
        runtime = GatewayRuntime(settings, service_clients=service_clients)
        async with runtime.running():
            episode = await runtime.engine().reset(ResetOptions(**OPTIONS, episode_id="kept"))
            await open_pages(runtime, episode, 3)
            await runtime.engine().step(episode, "wait", {"minutes": 5})
            snapshot = await runtime.snapshots().take(episode)
            (fork,) = await runtime.snapshots().fork(snapshot.id, 1)
            assert fork.page_views_left == episode.page_views_left == FREE_PAGE_VIEWS - 3 + 1
            await open_pages(runtime, episode, 5)
            await runtime.snapshots().restore(episode, snapshot.id)
            assert episode.page_views_left == FREE_PAGE_VIEWS - 3 + 1
            await open_pages(runtime, episode, 4)
        again = GatewayRuntime(settings, service_clients=service_clients)
        async with again.running():
            assert again.engine().store.get("kept").page_views_left == FREE_PAGE_VIEWS - 7 + 1
