"""Four real processes report the same step: one trace, log lines with its id, and no hidden values."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from companyos_shared.telemetry.operation import Operation
from tests.integration.collector import Collector, Seen, collecting
from tests.integration.http_episode import HttpEpisode
from tests.integration.processes import SERVICES, clean_environment, gateway, service_process
from verification.ports import HOST, free_port

DEADLINE_S = 30.0
POLL_S = 0.05
PROCESSES = {"companyos-gateway", *(f"companyos-{name}" for name in SERVICES)}


@pytest.fixture(scope="module")
def played() -> Iterator[tuple[Collector, list[dict[str, Any]]]]:
    """One episode with a call of each service, writes, some waiting and an end; and what was answered."""
    with collecting() as collector, requests.Session() as http:
        http.trust_env = False
        with gateway(OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, NO_PROXY="*", OTEL_SERVICE_NAME="") as url:
            episode = HttpEpisode(url, http)
            episode.reset(seed=1, chaos=0)
            episode.step("ticketdesk_search_tickets", query="onboard")
            episode.step("datahub_search_policies", query="vendor")
            episode.step("approvalflow_list_approvals")
            episode.step("ticketdesk_add_comment", key="OPS-1", body="about nothing")
            episode.step("datahub_update_vendor", vendor_id="VEN-0", notes="about nothing")
            for _ in range(3):
                episode.step("wait", until="next_working_morning")
            episode.step("finish", outcome="done", summary="nothing was done")
        yield collector, episode.observed


def _traces(collector: Collector) -> dict[str, list[Seen]]:
    traces: dict[str, list[Seen]] = defaultdict(list)
    for span in collector.spans:
        traces[span.trace].append(span)
    return traces


def _steps(collector: Collector) -> dict[int, list[Seen]]:
    """Return the spans of each step's trace by step number."""
    found = {span.trace: int(span.attributes["companyos.step"]) for span in collector.spans if span.name == "step"}
    traces = _traces(collector)
    return {number: traces[trace] for trace, number in found.items()}


def test_every_step_is_one_trace_with_the_trace_id_of_the_step(
    played: tuple[Collector, list[dict[str, Any]]],
) -> None:
    collector, observed = played
    steps = _steps(collector)
    assert sorted(steps) == list(range(1, len(observed)))
    for number, spans in steps.items():
        (root,) = [span for span in spans if span.name == "step"]
        assert root.parent == ""
        assert root.trace == Operation(root.attributes["companyos.episode"], 1, number).trace_id


def test_a_call_has_client_and_server_spans(played: tuple[Collector, list[dict[str, Any]]]) -> None:
    steps = _steps(played[0])
    for number, (service, operation) in enumerate(
        [("ticketdesk", "search_tickets"), ("datahub", "search_policies"), ("approvalflow", "list_approvals")], start=1
    ):
        named = {span.name: span for span in steps[number]}
        root, request, answered = named["step"], named[f"{service} GET"], named[operation]
        assert root.attributes["companyos.tool"] == f"{service}_{operation}"
        assert root.attributes["companyos.outcome"] == "carried_out"
        assert (request.parent, answered.parent) == (root.span, request.span)
        assert (request.process, answered.process) == ("companyos-gateway", f"companyos-{service}")


def test_a_step_that_calls_all_services_is_one_trace_over_four_processes(
    played: tuple[Collector, list[dict[str, Any]]],
) -> None:
    collector, observed = played
    assert {span.process for span in _steps(collector)[len(observed) - 1]} == PROCESSES


def test_a_reset_that_loads_documents_is_one_trace_over_four_processes(
    played: tuple[Collector, list[dict[str, Any]]],
) -> None:
    traces = _traces(played[0])
    (reset,) = [span for span in played[0].spans if span.name == "reset"]
    assert {span.process for span in traces[reset.trace]} == PROCESSES


def test_no_span_contains_text_of_an_agent(played: tuple[Collector, list[dict[str, Any]]]) -> None:
    message = json.dumps([(span.name, span.attributes) for span in played[0].spans])
    assert "onboard" not in message
    assert "nothing was done" not in message


class Processes:
    """A gateway with its log file, and the services that it started."""

    def __init__(self, log: Path, url: str, pid: int) -> None:
        self._log = log
        self.url = url
        self.pid = pid

    def kill(self, service: str) -> None:
        os.kill(service_process(self.pid, service), signal.SIGKILL)

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._log.read_text().splitlines()]


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    log, port = tmp_path_factory.mktemp("logged") / "log", free_port()
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "companyos_gateway", "--port", str(port)], stderr=file, env=clean_environment({})
        )
    try:
        deadline = time.monotonic() + DEADLINE_S
        while not any("Uvicorn running" in line for line in log.read_text().splitlines()):
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(POLL_S)
        yield Processes(log, f"http://{HOST}:{port}", process.pid)
    finally:
        process.terminate()
        assert process.wait(DEADLINE_S) == 0


def test_successful_steps_write_no_log_lines(logged: Processes, http: requests.Session) -> None:
    episode = HttpEpisode(logged.url, http)
    episode.reset(seed=1, chaos=0)
    before = len(logged.lines())
    for _ in range(20):
        episode.step("ticketdesk_list_tickets")
    assert len(logged.lines()) == before


def test_a_failure_in_a_step_writes_a_log_line_that_names_the_step(logged: Processes, http: requests.Session) -> None:
    episode = HttpEpisode(logged.url, http)
    begun = http.post(f"{logged.url}/reset", json={"seed": 1, "chaos": 0}).json()
    episode.id = begun["episode_id"]
    episode.step("ticketdesk_search_tickets", query="before")
    logged.kill("ticketdesk")
    answer = episode.step("ticketdesk_search_tickets", query="a needle nobody has")
    output = [line for line in logged.lines() if line["level"] == "warning" and "ticketdesk" in line["event"]]
    assert output, answer
    internal_id = output[0]["episode"]
    for line in output:
        assert (line["process"], line["step"]) == ("gateway", 2)
        assert line["trace"] == Operation(internal_id, 1, 2).trace_id
    message = json.dumps(logged.lines())
    assert "needle" not in message
    assert begun["token"] not in message
