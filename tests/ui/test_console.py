"""The console: lists episodes, starts them, and shows runs and scenarios."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import pytest
import pytest_asyncio
from openenv.core.env_server.types import ServerMode

from companyos_gateway.scenarios import catalogue
from tests.client.stored_runs import LINES, evidence, write_episode
from tests.ui.conftest import OpenBrowser, in_process
from tests.ui.episode_client import begin, step
from tests.ui.http_browser import Browser

pytestmark = pytest.mark.asyncio(loop_scope="module")

TOKEN = "trainer-token-of-some-length"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Browser]:
    """Provide a browser on a gateway that most of these tests share."""
    async with in_process(tmp_path_factory.mktemp("services")) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def browser(shared: Browser) -> AsyncIterator[Browser]:
    """Provide a browser on a gateway without running episodes."""
    yield shared
    await _open(shared)
    for episode_id in set(re.findall(r'data-testid="end-form-([^"]+)"', shared.page.text)):
        await shared.client.delete(f"/v1/episodes/{episode_id}")


async def _open(browser: Browser, way: str = "") -> None:
    browser.root = "/console"
    await browser.open(way)
    assert browser.page.status_code == 200, browser.page.text


async def test_an_episode_is_started_on_the_console_and_played_at_its_desk(browser: Browser) -> None:
    await _open(browser)
    assert "No episodes are running." in browser.page.text
    await browser.submit("start", scenario="handbook_update", seed__int="7", chaos__int="0")
    assert browser.page.status_code == 200
    assert browser.text_of("brief")
    desk = browser.page.url.path
    assert "token=" not in str(browser.page.url)
    await _open(browser)
    assert "Handbook update" in browser.page.text
    assert f'href="{desk}?token=' in browser.page.text


async def test_an_invalid_form_shows_the_error(browser: Browser) -> None:
    await _open(browser)
    await browser.submit("start", seed__int="-7")
    assert browser.page.status_code == 422
    assert browser.code() == "invalid-reset"
    assert 'value="-7"' in browser.page.text


async def test_an_episode_is_ended_on_the_console_and_stays_in_the_list(browser: Browser) -> None:
    episode_id = (await browser.client.post("/reset", json={})).json()["episode_id"]
    await _open(browser)
    await browser.submit(f"end-form-{episode_id}")
    assert "No episodes are running." in browser.page.text
    assert f'data-testid="view-{episode_id}"' in browser.page.text
    assert "Closed" in browser.page.text
    gone = await browser.client.post("/console/-/end", data={"episode_id": episode_id})
    assert gone.status_code == 404


async def test_a_task_is_started_by_index_or_id(browser: Browser) -> None:
    await _open(browser)
    await browser.submit("start-task", split="validation", index__int="12")
    assert browser.text_of("brief")
    await _open(browser, "/scenarios/handbook_update?split=validation&chaos=0")
    await browser.submit("start-validation.handbook_update.0.01")
    assert browser.text_of("brief")
    await _open(browser)
    await browser.submit("start-task", split="test", index__int="99999")
    assert (browser.page.status_code, browser.code()) == (422, "invalid-reset")
    assert 'value="99999"' in browser.page.text


async def test_chaos_overrides_are_entered_line_by_line(browser: Browser) -> None:
    await _open(browser)
    await browser.submit("start", chaos_overrides__pairs="unavailable = 0.5\nnonsense = 1")
    assert browser.page.status_code == 422
    assert "unavailable = 0.5" in browser.page.text
    await browser.submit(
        "start", scenario="handbook_update", chaos_overrides__pairs="rate_limited = 0.5\ndatahub.unavailable = 0.2"
    )
    assert browser.text_of("brief"), browser.page.text


async def test_unknown_values_are_rejected_with_the_accepted_ones(browser: Browser) -> None:
    level = (await browser.client.post("/reset", json={"chaos": 5})).json()
    levels = "0 calm, 1 light, 2 moderate, 3 heavy, 4 storm, or 5 to 8 if an installed package has that level"
    assert level["detail"] == f"chaos must be one of {levels}; got 5"
    scenario = (await browser.client.post("/reset", json={"scenario": "coffee_break"})).json()
    assert scenario["code"] == "unknown-scenario"
    assert "vendor_bank_change, vendor_onboarding" in scenario["detail"]
    page = await browser.client.get("/console/scenarios/coffee_break")
    assert page.status_code == 404
    assert "vendor_onboarding" in page.text


async def test_an_error_page_links_back(browser: Browser) -> None:
    await browser.reset(scenario="vendor_onboarding", seed=1)
    lost = {"/console/episodes/none": "/", f"{browser.root}/ticketdesk/tickets/none": f"{browser.root}/ticketdesk/"}
    for address, start in lost.items():
        refused = await browser.client.get(address)
        assert refused.status_code == 404
        back = re.search(r'href="([^"]*)" data-testid="back"', refused.text)
        assert back is not None, address
        assert back[1] == start
        assert (await browser.client.get(back[1])).status_code == 200


async def test_the_list_is_filtered_and_paginated(open_browser: OpenBrowser) -> None:
    async with open_browser(max_finished=23) as browser:
        for seed in range(25):
            begun = await begin(browser.client, seed=seed % 2)
            if seed < 5:
                await step(browser.client, begun["episode_id"], "finish", outcome="impossible", summary="No.")
            await browser.client.delete(f"/v1/episodes/{begun['episode_id']}")
        running = (await begin(browser.client, episode_id="running"))["episode_id"]
        await _open(browser)
        assert "20 of 24 episodes shown, page 1 of 2" in browser.page.text
        assert browser.page.text.index(f"view-{running}") < browser.page.text.index("just now")
        await _open(browser, "?page=2")
        assert "4 of 24 episodes shown, page 2 of 2" in browser.page.text
        await _open(browser, "?outcome=failed")
        assert "3 of 3 episodes" in browser.page.text, "of five two are forgotten"
        await _open(browser, "?state=running")
        assert "1 of 1 episodes" in browser.page.text
        for query in ("?page=99", "?page=-1", "?page=x", "?scenario=%3Cscript%3E"):
            await _open(browser, query)
        assert "No matching episodes." in browser.page.text
        assert "<script>" not in browser.page.text.replace('<script src="', "")


async def test_two_episodes_are_compared_live_or_over(browser: Browser) -> None:
    live = (await begin(browser.client))["episode_id"]
    over = (await begin(browser.client))["episode_id"]
    await browser.client.delete(f"/v1/episodes/{over}")
    await _open(browser)
    key = browser.page.text.partition('value="finished/')[2].partition('"')[0]
    refs = {"episode": [f"episodes/{live}", f"finished/{key}"]}
    way = await browser.client.get("/console/compare", params=refs, follow_redirects=False)
    assert way.headers["location"].endswith(f"#episode={live}&with={key}")
    assert (await browser.client.get(way.headers["location"])).status_code == 200
    run = (await browser.client.get("/console/compare/run", params=refs)).json()
    assert [one["name"] for one in run["episodes"]] == [live, key]
    for one in run["episodes"]:
        assert (await browser.client.get(one["document"])).json()["facts"]["name"] == one["name"]
    assert key in (await browser.client.get("/console/compare", params={"episode": f"episodes/{live}"})).text
    assert (await browser.client.get("/console/compare")).status_code == 422
    gone = await browser.client.get("/console/compare", params={"episode": ["finished/none", "episodes/../x"]})
    assert gone.status_code == 404


async def test_a_run_shows_its_report_and_every_episode_opens(open_browser: OpenBrowser, tmp_path: Path) -> None:
    name = write_episode(tmp_path / "runs" / "first")
    write_episode(tmp_path / "runs" / "first", policy="noop", lines=LINES[:2], stored=evidence(changes=()))
    (tmp_path / "runs" / "no run").mkdir()
    (tmp_path / "secret.jsonl").write_text("{}")
    async with open_browser(runs=tmp_path / "runs") as browser:
        await _open(browser, "/results")
        assert "1 of 1 runs shown" in browser.page.text
        await _open(browser, "/results/first")
        figures = browser.page.text.partition('data-testid="figures"')[2].partition("</table>")[0]
        assert "100.0%" in figures
        assert "0 of 1" in figures
        assert browser.page.text.count("<polyline") == 4
        reasons = browser.page.text.partition('data-testid="report"')[2].partition("</section>")[0]
        assert "expected status: closed; found status: open" in reasons
        assert "/results/first/episodes#episode=tiny-0-c1-noop&amp;step=2" in reasons
        await _open(browser, "/results/first?policy=noop")
        assert "1 of 1 episodes" in browser.page.text
        run = (await browser.client.get("/console/results/first/run")).json()
        assert [one["policy"] for one in run["episodes"]] == ["oracle", "noop"]
        document = (await browser.client.get(run["episodes"][0]["document"])).json()
        assert len(document["steps"]) == len(LINES)
        judged = (await browser.client.get(run["episodes"][0]["judged"])).json()
        assert judged["fault"], "the scenario of the run is not installed"
        refs = {"episode": [f"results/first/episodes/{one['name']}" for one in run["episodes"]]}
        assert (await browser.client.get("/console/compare", params=refs)).status_code == 200
        for foreign in ("../..", "no run", "%2e%2e", "..%2fsecret.jsonl", "../runs/first", "runs"):
            for part in ("", "/episodes", "/run", f"/episodes/{name}/document"):
                answer = await browser.client.get(f"/console/results/{quote(foreign, safe='')}{part}")
                assert answer.status_code == 404, (foreign, part)
        assert (await browser.client.get("/console/results/first/episodes/..%2F..%2Fx/document")).status_code == 404


async def test_an_empty_list_of_runs_shows_how_to_create_one(open_browser: OpenBrowser, tmp_path: Path) -> None:
    async with open_browser(runs=tmp_path / "nowhere") as browser:
        await _open(browser, "/results")
        assert "No runs in" in browser.page.text


async def test_the_scenario_pages_list_no_test_tasks(browser: Browser) -> None:
    await _open(browser, "/scenarios")
    assert browser.page.text.count('data-testid="scenario-') == len(catalogue())
    for name in ("vendor_onboarding", "quarter_close"):
        await _open(browser, f"/scenarios/{name}")
        assert "<strong>Success:</strong>" in browser.page.text
        assert "Not applicable" in browser.page.text
        assert f"train.{name}.0.00" in browser.page.text
    await _open(browser, "/scenarios/vendor_onboarding?split=test")
    assert "test.vendor_onboarding" not in browser.page.text


async def test_the_home_page_links_to_the_console_if_it_exists(open_browser: OpenBrowser) -> None:
    for mode, is_there in ((ServerMode.SIMULATION, True), (ServerMode.PRODUCTION, False)):
        async with open_browser(mode=mode) as browser:
            assert ('href="/console"' in (await browser.client.get("/")).text) is is_there
            assert ((await browser.client.get("/console")).status_code == 200) is is_there


async def test_the_console_requires_the_trainer_token(open_browser: OpenBrowser) -> None:
    async with open_browser(trainer_token=TOKEN) as browser:
        assert (await browser.client.get("/console")).status_code == 403
        own = await browser.client.post("/reset", json={}, headers={"Authorization": f"Bearer {TOKEN}"})
        agent = f"companyos_trainer={own.json()['token']}"
        assert (await browser.client.get("/console", headers={"Cookie": agent})).status_code == 403
        await _open(browser, f"?token={TOKEN}")
        assert "token=" not in str(browser.page.url)
        await browser.submit("start", chaos__int="0")
        assert browser.text_of("brief")
        foreign = await browser.client.post("/console/-/start", data={}, headers={"Sec-Fetch-Site": "cross-site"})
        assert foreign.status_code == 403
