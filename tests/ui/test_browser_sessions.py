"""Browser sessions: the cookie is a random id that expires and is deleted on sign-out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from companyos_gateway.middleware import browser_sessions
from companyos_gateway.middleware.browser_sessions import (
    SESSION_LIFETIME_S,
    BrowserSession,
    BrowserSessions,
    SessionFolder,
)
from tests.ui.conftest import OpenBrowser

TOKEN = "trainer-token-of-some-length"
TRAINER = {"Authorization": f"Bearer {TOKEN}"}


async def test_the_console_stores_a_session_and_never_the_token(open_browser: OpenBrowser) -> None:
    async with open_browser(trainer_token=TOKEN) as browser:
        client = browser.client
        entered = await client.get("/console", params={"token": TOKEN}, follow_redirects=False)
        kept = entered.headers["set-cookie"]
        assert TOKEN not in kept
        assert {"HttpOnly", "Path=/console", "SameSite=strict", f"Max-Age={SESSION_LIFETIME_S}"} <= set(
            kept.split("; ")
        )
        assert "Secure" not in kept
        assert (await client.get("/console")).status_code == 200
        client.cookies.clear()
        for wrong in (TOKEN, "", "x" * 43, "\u00fc"):
            cookie = {b"Cookie": f"companyos_trainer={wrong}".encode()}
            assert (await client.get("/console", headers=cookie)).status_code == 403


async def test_a_session_opens_pages_only(open_browser: OpenBrowser) -> None:
    async with open_browser(trainer_token=TOKEN) as browser:
        await browser.client.get("/console", params={"token": TOKEN})
        session = browser.client.cookies["companyos_trainer"]
        for headers in ({"Cookie": f"companyos_trainer={session}"}, {"Authorization": f"Bearer {session}"}):
            assert (await browser.client.get("/v1/scenarios", headers=headers)).status_code == 401


async def test_over_https_the_cookie_is_secure(open_browser: OpenBrowser) -> None:
    async with open_browser(trainer_token=TOKEN) as browser:
        url = str(browser.client.base_url.copy_with(scheme="https", path="/console"))
        entered = await browser.client.get(url, params={"token": TOKEN}, follow_redirects=False)
        assert "Secure" in entered.headers["set-cookie"].split("; ")


async def test_signing_out_ends_the_session(open_browser: OpenBrowser) -> None:
    async with open_browser(trainer_token=TOKEN) as browser:
        client = browser.client
        browser.page = await client.get("/console", params={"token": TOKEN})
        session = client.cookies["companyos_trainer"]
        await browser.submit("sign-out")
        assert browser.page.status_code == 403
        assert "companyos_trainer" not in client.cookies
        again = await client.get("/console", headers={"Cookie": f"companyos_trainer={session}"})
        assert again.status_code == 403


async def test_without_a_trainer_token_there_is_no_session(open_browser: OpenBrowser) -> None:
    async with open_browser() as browser:
        answer = await browser.client.get("/console", params={"token": TOKEN})
        assert "sign-out" not in answer.text
        assert not browser.client.cookies


async def test_the_desk_session_survives_a_reset_and_ends_with_its_episode(
    open_browser: OpenBrowser,
) -> None:
    async with open_browser(trainer_token=TOKEN) as browser:
        begun = await browser.reset(scenario="vendor_onboarding", seed=1, episode_id="mine", trainer=TOKEN)
        assert browser.page.status_code == 200
        kept = browser.client.cookies["companyos_episode"]
        assert begun["token"] != kept
        assert (await browser.open("")).status_code == 200
        other = (await browser.client.post("/reset", json={}, headers=TRAINER)).json()["episode_id"]
        cookie = {"Cookie": f"companyos_episode={kept}"}
        assert (await browser.client.get(f"/v1/episodes/{other}/apps", headers=cookie)).status_code in (403, 404)
        assert (await browser.client.get("/console", headers=cookie)).status_code == 403
        await browser.client.delete("/v1/episodes/mine", headers=TRAINER)
        assert (await browser.open("")).status_code == 403


@pytest.mark.parametrize("shared", [False, True])
def test_a_session_expires_and_the_oldest_are_evicted(
    tmp_path: Path, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser_sessions, "MAX_SESSIONS", 8)
    now = [0.0]
    sessions = BrowserSessions(SessionFolder(tmp_path) if shared else None, clock=lambda: now[0])
    first = sessions.begin(None)
    assert first != sessions.begin(None)
    now[0] = SESSION_LIFETIME_S - 1
    assert sessions.find(first) is not None
    now[0] = SESSION_LIFETIME_S
    assert sessions.find(first) is None
    session_ids = [sessions.begin(None) for _ in range(9)]
    assert [sessions.find(session_id) is not None for session_id in session_ids] == [False] + [True] * 8
    sessions.end(session_ids[-1])
    assert sessions.find(session_ids[-1]) is None


def test_workers_share_the_sessions_of_a_folder(tmp_path: Path) -> None:
    first, second = (BrowserSessions(SessionFolder(tmp_path)) for _ in range(2))
    session_id = first.begin("n1-abc")
    found = second.find(session_id)
    assert found is not None
    assert found.episode == "n1-abc"
    assert session_id not in "".join(file.name + file.read_text() for file in tmp_path.iterdir())
    second.end(session_id)
    assert first.find(session_id) is None


class _EndedWhenListed(SessionFolder):
    """A folder whose sessions another worker ends as soon as they have been listed."""

    def __iter__(self) -> Iterator[str]:
        keys = list(super().__iter__())
        for key in keys:
            del self[key]
        return iter(keys)


class _EndedWhenRead(SessionFolder):
    """A folder whose sessions another worker ends as soon as they have been read."""

    def __getitem__(self, key: str) -> BrowserSession:
        session = super().__getitem__(key)
        del self[key]
        return session


@pytest.mark.parametrize("kind", [_EndedWhenListed, _EndedWhenRead])
@pytest.mark.parametrize("is_full", [False, True])
def test_a_session_that_another_worker_ends_meanwhile_is_skipped(
    tmp_path: Path, kind: type[SessionFolder], is_full: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = BrowserSessions(SessionFolder(tmp_path), clock=lambda: 0.0)
    ended = [others.begin(None) for _ in range(4)]
    if is_full:
        monkeypatch.setattr(browser_sessions, "MAX_SESSIONS", 4)
    sessions = BrowserSessions(kind(tmp_path), clock=lambda: 0.0 if is_full else SESSION_LIFETIME_S)
    session_id = sessions.begin(None)
    sessions.end(ended[0])
    assert others.find(session_id) is not None
    sessions.end(session_id)
    assert others.find(session_id) is None


def test_a_file_that_is_removed_while_the_folder_is_listed_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listed_then_removed(folder: Path) -> list[os.DirEntry[str]]:
        with scandir(folder) as found:
            files = list(found)
        for file in files:
            os.unlink(file)
        return files

    scandir = os.scandir
    sessions = BrowserSessions(SessionFolder(tmp_path))
    sessions.begin(None)
    monkeypatch.setattr(os, "scandir", listed_then_removed)
    assert sessions.find(sessions.begin(None)) is not None


@pytest.mark.parametrize("attempt", range(3))
def test_ids_are_stored_as_hashes(attempt: int) -> None:
    sessions = BrowserSessions()
    session_id = sessions.begin("n1-abc")
    assert len(session_id) == 43
    assert session_id not in repr(vars(sessions))
