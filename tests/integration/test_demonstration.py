"""The page's running demonstration: the oracle plays an episode that anyone may watch."""

from __future__ import annotations

import time

import requests

DEADLINE_S = 60


def _steps(url: str, http: requests.Session, episode_id: str) -> int:
    shown = http.get(f"{url}/render", params={"episode_id": episode_id}, timeout=10).json()
    return len(shown["steps"])


def test_a_demonstration_plays_in_the_background(url: str, http: requests.Session) -> None:
    begun = http.post(f"{url}/v1/demonstrations", json={}, timeout=10)
    assert begun.status_code == 202
    episode_id = begun.json()["episode_id"]
    give_up_at = time.monotonic() + DEADLINE_S
    while _steps(url, http, episode_id) < 3:
        assert time.monotonic() < give_up_at, "the oracle took no three steps"
    shown = http.get(f"{url}/render", params={"episode_id": episode_id}, timeout=10).json()
    assert [step["step"] for step in shown["steps"][:3]] == [1, 2, 3]
    assert shown["brief"]


def test_the_page_links_the_demonstration_and_loads_no_external_resources(url: str, http: requests.Session) -> None:
    page = http.get(f"{url}/", timeout=10).text
    assert "Watch a demonstration" in page
    assert "//" not in page.replace("ws://…/ws", "")
