"""`make bench` runs and prints the expected measurements, whatever their values."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT
from verification.benchmarks.measurements import Measurements, p50_us
from verification.ports import HOST, free_port


def test_a_figure_with_an_echo_has_a_ratio() -> None:
    measurements = Measurements()
    measurements.add("step", 300.0, "us", echo=150.0, target="<= 4x")
    measurements.add("tools", 49, "")
    assert [measurement["ratio"] for measurement in measurements.to_json()] == [2.0, None]


def test_the_median_is_in_microseconds() -> None:
    assert p50_us([0.001, 0.003, 0.002]) == pytest.approx(2000.0)


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.timeout(300)
def test_a_quick_run_prints_and_stores_every_figure(tmp_path: Path) -> None:
    out = tmp_path / "bench.json"
    command = [sys.executable, "-m", "verification.benchmarks", "--quick", "--out", str(out)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    names = [measurement["name"] for measurement in json.loads(out.read_text())["figures"]]
    for promised in (
        "step over WebSocket, read, p50",
        "step over plain HTTP, read, p50",
        "resets of a cached task",
        "reset of a cached shift-month, p50",
        "read of a shift after 800 steps, p50",
        "steps at 1 concurrent episodes",
        "steps at 64 concurrent episodes",
        "memory per open episode, ticketdesk",
        "tokens of all tool schemas",
        "tokens of a default observation, median",
    ):
        assert promised in names
        assert promised in answer.stdout


def test_a_free_port_is_given_only_to_a_server_that_names_it() -> None:
    port = free_port()
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind((HOST, port))
    socket.create_server((HOST, port)).close()
