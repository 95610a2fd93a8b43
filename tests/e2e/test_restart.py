"""A gateway or a service that is killed in its container restarts, and the episode continues."""

from __future__ import annotations

import time

import httpx
import pytest
from docker.models.containers import Container

DEADLINE_S = 60.0


@pytest.mark.parametrize("name", ["gateway", "ticketdesk"])
def test_an_episode_survives_a_killed_container(url: str, containers: dict[str, Container], name: str) -> None:
    with httpx.Client(base_url=url, timeout=30.0, trust_env=False) as http:
        begun = http.post("/reset", json={"seed": 5, "chaos": 0}).json()
        _step(http, begun["episode_id"], 1, "ticketdesk_list_tickets")
        ticket = begun["observation"]["brief"]
        key = next(
            word.strip(".,:;()") for word in ticket.split() if "-" in word and word.strip(".,:;()")[-1].isdigit()
        )
        output = _step(http, begun["episode_id"], 2, "ticketdesk_add_comment", key=key, body="Before the end.")
        state = http.get(f"/v1/episodes/{begun['episode_id']}").json()
        containers[name].kill()
        containers[name].start()
        _wait_until_ready(http)
        assert http.get(f"/v1/episodes/{begun['episode_id']}").json() == state
        assert _step(http, begun["episode_id"], 2, "ticketdesk_add_comment", key=key, body="Before the end.") == output
        comments = _step(http, begun["episode_id"], 3, "ticketdesk_list_comments", key=key)
        assert str(comments).count("Before the end.") == 1


def _step(http: httpx.Client, episode: str, number: int, tool: str, **arguments: str) -> object:
    action = {"tool_name": tool, "arguments": arguments}
    answer = http.post("/step", json={"episode_id": episode, "step": number, "action": action})
    assert answer.status_code == 200, answer.text
    return answer.json()


def _wait_until_ready(http: httpx.Client) -> None:
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        try:
            if http.get("/readyz").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise AssertionError("the enterprise did not come back")
