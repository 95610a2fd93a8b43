"""A client that lost the response to a step sends it again with the step's number; the step is taken once."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Any

import pytest
import requests

from tests.integration.processes import service_process
from tests.promises.deployment_under_load import DeploymentUnderLoad, deployment_under_load

CLIENT_TIMEOUT_S = 0.4
STOPPED_S = 1.2
"""Longer than the client's timeout, shorter than the gateway's timeout for a service."""

MARK = "said once"

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeploymentUnderLoad]:
    with deployment_under_load(tmp_path_factory.mktemp("gateway")) as opened:
        yield opened


class Client:
    """A plain HTTP client with its own episode."""

    def __init__(self, deployment: DeploymentUnderLoad, http: requests.Session) -> None:
        self._deployment, self._http = deployment, http
        opened = http.post(f"{deployment.url}/reset", json={"seed": 1, "chaos": 0})
        assert opened.status_code == 200, opened.text
        self.episode: str = opened.json()["episode_id"]
        listed = self.step(1, "ticketdesk_list_tickets").json()
        self.ticket: str = listed["observation"]["result"]["items"][0]["key"]

    def step(self, number: int, tool: str, /, *, wait_s: float = 30.0, **arguments: Any) -> requests.Response:
        body = {
            "episode_id": self.episode,
            "step": number,
            "action": {"tool_name": tool, "arguments": arguments},
        }
        return self._http.post(f"{self._deployment.url}/step", json=body, timeout=wait_s)

    def comment(self, number: int, *, body: str = MARK, wait_s: float = 30.0) -> requests.Response:
        return self.step(number, "ticketdesk_add_comment", key=self.ticket, body=body, wait_s=wait_s)

    def comments(self, number: int) -> list[str]:
        listed = self.step(number, "ticketdesk_list_comments", key=self.ticket, limit=50)
        return [row["body"] for row in listed.json()["observation"]["result"]["items"]]


@pytest.fixture
def client(deployment: DeploymentUnderLoad, http: requests.Session) -> Client:
    return Client(deployment, http)


@contextmanager
def _stopped(deployment: DeploymentUnderLoad, service: str) -> Iterator[None]:
    """Suspend a service for a while: it receives requests, and responds later."""
    pid = service_process(deployment.processes[0], service)
    os.kill(pid, signal.SIGSTOP)
    wake = Timer(STOPPED_S, os.kill, (pid, signal.SIGCONT))
    wake.start()
    try:
        yield
    finally:
        wake.join()


def test_a_retry_of_a_step_that_timed_out_gets_the_stored_response(
    deployment: DeploymentUnderLoad, client: Client
) -> None:
    with _stopped(deployment, "ticketdesk"), pytest.raises(requests.ReadTimeout):
        client.comment(2, wait_s=CLIENT_TIMEOUT_S)
    again = client.comment(2)
    assert again.status_code == 200
    assert again.json()["observation"]["result"]["body"] == MARK
    assert client.comment(2).content == again.content
    assert client.comments(3).count(MARK) == 1


def test_a_retry_while_the_step_is_in_flight_is_not_a_second_step(
    deployment: DeploymentUnderLoad, client: Client
) -> None:
    with _stopped(deployment, "ticketdesk"):
        for _ in range(2):
            with pytest.raises(requests.ReadTimeout):
                client.comment(2, wait_s=CLIENT_TIMEOUT_S)
        again = client.comment(2)
    assert again.status_code == 200
    assert again.json()["observation"]["result"]["body"] == MARK
    assert client.comments(3).count(MARK) == 1


def test_another_step_with_the_number_of_one_that_timed_out_is_rejected(
    deployment: DeploymentUnderLoad, client: Client
) -> None:
    with _stopped(deployment, "ticketdesk"), pytest.raises(requests.ReadTimeout):
        client.comment(2, wait_s=CLIENT_TIMEOUT_S)
    other = client.comment(2, body="something else")
    assert (other.status_code, other.json()["code"]) == (409, "step-conflict")
    assert client.comments(3).count(MARK) == 1
