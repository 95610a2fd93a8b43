"""The parts of the fault suite that need no processes: response parsing, step script, counts and reports."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.architecture.sources import ROOT
from verification.defects import FAULT_DEFECTS
from verification.faults import player as player_module
from verification.faults.__main__ import DETECTED_BY
from verification.faults.cells import CELLS, failpoints
from verification.faults.cells.workload import STEPS_TO_REACH_ALL_SERVICES
from verification.faults.deployment import PROCESSES, SERVICES, Deployment
from verification.faults.deployment_kinds import clock_environment, set_offset
from verification.faults.findings import KINDS, Findings
from verification.faults.gateway_client import PROBLEM, GatewayClient, Kind, Response, parse_response
from verification.faults.player import Player
from verification.faults.report import failed, markdown_table, rows
from verification.faults.runner import CellResult
from verification.faults.step_script import CANARY, EpisodeEntities, Reference, action_of, canary_of, normalize

ENTITIES = EpisodeEntities("OPS-1", "E-1", "APR-1")


@pytest.mark.parametrize(
    ("status", "media_type", "content", "kind"),
    [
        (200, "application/json", b'{"done":false}', Kind.DONE),
        (204, "", b"", Kind.DONE),
        (503, PROBLEM, b'{"code":"shutting-down"}', Kind.REFUSED),
        (503, "application/json", b'{"code":"shutting-down"}', Kind.UNCLEAR),
        (503, PROBLEM, b'{"title":"no code"}', Kind.UNCLEAR),
        (503, "text/plain", b"Service Unavailable", Kind.UNCLEAR),
        (500, PROBLEM, b'{"code":"internal-error"}', Kind.UNCLEAR),
        (200, "application/json", b'{"done":fal', Kind.UNCLEAR),
    ],
)
def test_every_response_is_classified_as_clear_or_unclear(
    status: int, media_type: str, content: bytes, kind: Kind
) -> None:
    assert parse_response(status, media_type, content).kind is kind


def test_enough_consecutive_steps_reach_every_service() -> None:
    for first in range(1, 25):
        row = range(first, first + STEPS_TO_REACH_ALL_SERVICES)
        assert {action_of(ENTITIES, number, "").service for number in row} >= set(SERVICES)


def test_every_canary_of_an_episode_is_different() -> None:
    found = {
        canary_of(player, replay_number, n)
        for player in ("t00001p000", "t00001p001")
        for replay_number in range(3)
        for n in range(60)
    }
    assert len(found) == 2 * 3 * 60
    assert all(CANARY.fullmatch(canary) for canary in found)


def test_two_players_of_a_seed_get_the_same_responses_except_for_canaries() -> None:
    responses = [{"observation": {"body": canary_of(p, 0, 1)}, "reward": 0.0, "done": False, "token": p} for p in "ab"]
    assert normalize(responses[0]) == normalize(responses[1])
    assert normalize(responses[0] | {"reward": 1.0}) != normalize(responses[1])


class StartingClient(GatewayClient):
    """The first response is a refusal, during which a slow start ends; the next one is a snapshot."""

    def __init__(self, deployment: Deployment) -> None:
        super().__init__("http://localhost")
        self._deployment = deployment
        self._answers = iter(
            (
                Response(Kind.REFUSED, 503, code="services-unavailable"),
                Response(Kind.DONE, 200, {"id": "snapshot", "step": 0}),
            )
        )

    async def request(self, method: str, path: str, body: Any = None, *, deadline_s: float = 0.0) -> Response:
        self._deployment.slow_starts_s = 60.0
        return next(self._answers)


async def test_a_slow_start_that_ends_during_a_request_extends_its_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(player_module, "DEADLINE_S", 0.0)
    deployment = Deployment(tmp_path, Random())
    await deployment.client.aclose()
    deployment.client = StartingClient(deployment)
    player = Player(deployment, "waiting", Reference.unknown(), Findings(), 7)
    assert await player.snapshot() == "snapshot"
    assert player.findings.unclear == []
    await deployment.client.aclose()


def test_all_sixteen_kill_cells_exist() -> None:
    names = {cell.name for cell in CELLS}
    expected = {f"kill -9 {p} in mid {work}" for p in PROCESSES for work in ("step", "reset", "snapshot", "restore")}
    assert len(expected) == 16
    assert expected <= names
    assert len(names) == len(CELLS)


def test_a_release_runs_a_thousand_trials() -> None:
    assert sum(cell.full for cell in CELLS) >= 1_000


def test_every_failpoint_has_a_cell() -> None:
    sources = "\n".join(
        path.read_text() for folder in ("shared", "gateway") for path in (ROOT / folder / "src").rglob("*.py")
    )
    places = set(re.findall(r'failpoint\("([\w.]+)"\)', sources))
    assert places == {*failpoints.GATEWAY_FAILPOINTS, *failpoints.SERVICE_FAILPOINTS, *failpoints.LEASE_FAILPOINTS}


def test_every_defect_has_a_cell_that_detects_it() -> None:
    assert set(DETECTED_BY) == set(FAULT_DEFECTS)
    assert {name for name, _ in DETECTED_BY.values()} <= {cell.name for cell in CELLS}
    assert {column for _, columns in DETECTED_BY.values() for column in columns} == {*KINDS}


def test_a_run_fails_if_anything_was_found_or_nothing_was_run() -> None:
    tried = CellResult(CELLS[0], planned=3, trials=3)
    skipped = CellResult(CELLS[1], planned=3, not_run="there is no disk")
    assert not failed([tried, skipped])
    assert failed([skipped])
    assert failed([CellResult(CELLS[0], planned=1, trials=1, findings=Findings(doubled=["twice"]))])


def test_the_table_lists_cells_that_were_not_run_with_the_reason() -> None:
    tried = CellResult(CELLS[0], planned=3, trials=3, findings=Findings(lost=["a", "b"], torn=["c"]))
    skipped = CellResult(CELLS[1], planned=3, not_run="there is no disk")
    assert rows([tried, skipped]) == [
        (CELLS[0].name, "3", "1", "2", "0", "0"),
        (CELLS[1].name, "not run", "", "", "", ""),
        ("all", "3", "1", "2", "0", "0"),
    ]
    kept = markdown_table([tried, skipped], "2026-03-02, commit abc1234, seed 7")
    assert "2026-03-02, commit abc1234, seed 7" in kept
    assert f"{CELLS[1].name}: not run, there is no disk." in kept


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler on this machine")
def test_a_fake_clock_jumps_without_affecting_the_monotonic_one(tmp_path: Path) -> None:
    environment = clock_environment(tmp_path)
    clocks = "import time; print(int(time.time()), int(time.monotonic()))"

    def read() -> list[int]:
        completed = subprocess.run([sys.executable, "-c", clocks], env=environment, capture_output=True, check=True)
        return [int(word) for word in completed.stdout.split()]

    wall, monotonic = read()
    set_offset(tmp_path, 1_000_000)
    jumped, later = read()
    assert 1_000_000 <= jumped - wall < 1_000_100
    assert 0 <= later - monotonic < 100
