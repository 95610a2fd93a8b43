"""The console: the trainer sees what is played, starts an episode and gets to its desk."""

from __future__ import annotations

from tests.apps.browsing import Browser
from tests.apps.conftest import OpenBrowser

TOKEN = "trainer-token-of-some-length"


async def _open(browser: Browser, way: str = "") -> None:
    browser.root = "/console"
    await browser.open(way)
    assert browser.page.status_code == 200, browser.page.text


async def test_an_episode_is_started_on_the_console_and_played_at_its_desk(browser: Browser) -> None:
    await _open(browser)
    assert "Nothing is played at present." in browser.page.text
    await browser.submit("start", scenario="handbook_update", seed__int="7", chaos__int="0")
    assert browser.page.status_code == 200
    assert browser.told("brief")
    desk = browser.page.url.path
    assert "token=" not in str(browser.page.url)
    await _open(browser)
    assert "Handbook update" in browser.page.text
    assert f'href="{desk}?token=' in browser.page.text


async def test_what_is_refused_stands_on_the_form(browser: Browser) -> None:
    await _open(browser)
    await browser.submit("start", seed__int="-7")
    assert browser.page.status_code == 422
    assert browser.code() == "invalid-reset"
    assert 'value="-7"' in browser.page.text


async def test_an_episode_is_ended_on_the_console(browser: Browser) -> None:
    episode_id = (await browser.client.post("/reset", json={})).json()["episode_id"]
    await _open(browser)
    await browser.submit(f"end-form-{episode_id}")
    assert "Nothing is played at present." in browser.page.text
    gone = await browser.client.post("/console/-/end", data={"episode_id": episode_id})
    assert gone.status_code == 404


async def test_the_catalogue_says_what_there_is_to_play(browser: Browser) -> None:
    await _open(browser, "/scenarios")
    assert browser.page.text.count("<h2") == 17
    assert "Vendor onboarding" in browser.page.text


async def test_the_console_is_the_trainer_s_alone(open_browser: OpenBrowser) -> None:
    async with open_browser(trainer_token=TOKEN) as browser:
        assert (await browser.client.get("/console")).status_code == 403
        own = await browser.client.post("/reset", json={}, headers={"Authorization": f"Bearer {TOKEN}"})
        agent = f"companyos_trainer={own.json()['token']}"
        assert (await browser.client.get("/console", headers={"Cookie": agent})).status_code == 403
        await _open(browser, f"?token={TOKEN}")
        assert "token=" not in str(browser.page.url)
        await browser.submit("start", chaos__int="0")
        assert browser.told("brief")
        foreign = await browser.client.post("/console/-/start", data={}, headers={"Sec-Fetch-Site": "cross-site"})
        assert foreign.status_code == 403
