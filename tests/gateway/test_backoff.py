"""Restarts of processes that exit repeatedly, simulated with a manual clock and random lifetimes."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from companyos_gateway.process.backoff import (
    FIRST_DELAY_S,
    HEALTHY_S,
    MAX_DELAY_S,
    Backoff,
    read_restart_states,
    restart_states,
    write_restart_states,
)
from companyos_gateway.process.service_host import CHECK_INTERVAL_S


class SimulatedProcess:
    """A supervised process; `lives` are the lifetimes of its starts in seconds, the last of which repeats."""

    def __init__(self, lives: list[float]) -> None:
        self.now = 1_000.0
        self.backoff = Backoff(clock=lambda: self.now)
        self.starts: list[float] = []
        self.delays: list[float] = []
        self.settled = 0
        self._lives = lives
        self._ends_at: float | None = None

    def run(self, seconds: float) -> None:
        """Check the process every CHECK_INTERVAL_S, as the service host does."""
        until = self.now + seconds
        while self.now < until:
            if self._ends_at is None and self.backoff.is_due:
                life = self._lives[min(len(self.starts), len(self._lives) - 1)]
                self.starts.append(self.now)
                self._ends_at = self.now + life
                self.backoff.started()
            self.now += CHECK_INTERVAL_S
            if self._ends_at is not None and self.now >= self._ends_at:
                self._ends_at = None
                self.delays.append(self.backoff.ended())
            self.settled += self.backoff.settle()


def test_a_process_that_always_exits_at_once_is_restarted_with_doubling_delays() -> None:
    process = SimulatedProcess([0.0])
    process.run(600)
    assert process.delays[:9] == [0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    assert set(process.delays[8:]) == {MAX_DELAY_S}
    assert len(process.starts) < 30
    assert (process.backoff.restarts, process.settled) == (len(process.delays), 0)


def test_a_process_that_runs_for_a_while_before_it_exits_is_restarted_at_once() -> None:
    process = SimulatedProcess([HEALTHY_S + 1])
    process.run(300)
    assert set(process.delays) == {0.0}
    assert len(process.starts) > 20


def test_a_process_that_recovers_is_reported_healthy_once() -> None:
    process = SimulatedProcess([0.0, 0.0, 0.0, float("inf")])
    process.run(5)
    assert (process.backoff.delay_s, process.settled) == (1.0, 0)
    process.run(600)
    assert (process.backoff.delay_s, process.backoff.restarts, process.settled) == (0.0, 3, 1)
    assert len(process.starts) == 4


def test_a_process_that_cannot_be_started_is_retried_with_delays() -> None:
    now = 0.0
    backoff = Backoff(clock=lambda: now)
    delays = []
    for _ in range(100):
        assert backoff.is_due
        delays.append(backoff.ended())
        assert backoff.is_due is (delays[-1] == 0)
        now += delays[-1]
    assert delays[:3] == [0.0, FIRST_DELAY_S, 2 * FIRST_DELAY_S]
    assert delays[-1] == MAX_DELAY_S


@given(st.lists(st.floats(0, 3 * HEALTHY_S), min_size=1, max_size=40))
def test_no_sequence_of_exits_restarts_often_or_waits_long(lives: list[float]) -> None:
    process = SimulatedProcess([*lives, float("inf")])
    process.run(len(lives) * (MAX_DELAY_S + 3 * HEALTHY_S + 1) + 1)
    assert len(process.starts) == len(lives) + 1
    assert process.backoff.restarts == len(lives)
    assert all(0 <= delay <= MAX_DELAY_S for delay in process.delays)
    for number, delay in enumerate(process.delays):
        is_first = number == 0 or lives[number] >= HEALTHY_S
        if is_first:
            assert delay == 0
        pause = process.starts[number + 1] - process.starts[number]
        assert pause >= delay
    for first, later in zip(process.starts, process.starts[3:], strict=False):
        assert later - first >= FIRST_DELAY_S


def test_restart_states_are_shared_between_processes_and_list_only_exited_processes(tmp_path: Path) -> None:
    steady, ended = Backoff(), Backoff()
    ended.ended()
    ended.ended()
    backoffs = {"datahub": steady, "ticketdesk": ended}
    write_restart_states(tmp_path, backoffs)
    assert read_restart_states(tmp_path) == restart_states(backoffs)
    assert restart_states(backoffs) == {"ticketdesk": {"restarts": 2, "delay_s": FIRST_DELAY_S}}
    assert [file.name for file in tmp_path.iterdir()] == ["restarts.json"]


def test_missing_or_unreadable_restart_states_are_ignored(tmp_path: Path) -> None:
    assert read_restart_states(tmp_path) == {}
    for content in (b"", b"{", b"\xff", json.dumps([1]).encode()):
        (tmp_path / "restarts.json").write_bytes(content)
        assert read_restart_states(tmp_path) == {}
