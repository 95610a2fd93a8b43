"""The parts of the fault suite that need no house: what is clear, what is played, what is counted, what is printed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from faults.answers import PROBLEM, Kind, read_answer
from faults.cells import failpoints
from faults.cells.catalogue import CELLS
from faults.cells.work import STEPS_INTO_ALL
from faults.clock import clock_environment, set_offset
from faults.findings import Findings
from faults.house import PROCESSES, SERVICES
from faults.proof import PROOFS
from faults.runner import CellResult
from faults.sabotage import SABOTAGES
from faults.script import CANARY, World, action_of, canary_of, normal
from faults.table import Circumstances, as_json, failed, markdown_table, rows
from tests.architecture.sources import ROOT

WORLD = World("OPS-1", "E-1", "APR-1")
CIRCUMSTANCES = Circumstances("2026-03-02", "abc1234", 7, "full", 12.0, "Linux")


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
def test_an_answer_is_clear_or_it_is_not(status: int, media_type: str, content: bytes, kind: Kind) -> None:
    assert read_answer(status, media_type, content).kind is kind


def test_enough_steps_in_a_row_reach_every_service() -> None:
    for first in range(1, 25):
        row = range(first, first + STEPS_INTO_ALL)
        assert {action_of(WORLD, number, "").service for number in row} >= set(SERVICES)


def test_every_canary_of_an_episode_is_another_one() -> None:
    found = {
        canary_of(player, lap, n) for player in ("t00001p000", "t00001p001") for lap in range(3) for n in range(60)
    }
    assert len(found) == 2 * 3 * 60
    assert all(CANARY.fullmatch(canary) for canary in found)


def test_two_players_of_a_seed_are_told_the_same_but_for_their_canaries() -> None:
    told = [{"observation": {"body": canary_of(p, 0, 1)}, "reward": 0.0, "done": False, "token": p} for p in "ab"]
    assert normal(told[0]) == normal(told[1])
    assert normal(told[0] | {"reward": 1.0}) != normal(told[1])


def test_the_sixteen_cells_are_there() -> None:
    names = {cell.name for cell in CELLS}
    wanted = {f"kill -9 {p} in mid {work}" for p in PROCESSES for work in ("step", "reset", "snapshot", "restore")}
    assert len(wanted) == 16
    assert wanted <= names
    assert len(names) == len(CELLS)


def test_a_release_takes_a_thousand_trials() -> None:
    assert sum(cell.full for cell in CELLS) >= 1_000


def test_every_place_where_a_process_can_be_told_to_die_has_a_cell() -> None:
    written = "\n".join(
        path.read_text() for room in ("shared", "gateway") for path in (ROOT / room / "src").rglob("*.py")
    )
    places = set(re.findall(r'failpoint\("([\w.]+)"\)', written))
    assert places == {*failpoints.OF_THE_GATEWAY, *failpoints.OF_A_SERVICE, *failpoints.OF_A_LEASE}


def test_every_sabotage_is_held_against_a_cell() -> None:
    assert {proof.sabotage for proof in PROOFS} == set(SABOTAGES)
    assert {proof.cell for proof in PROOFS} <= {cell.name for cell in CELLS}
    assert {proof.column for proof in PROOFS} == {"torn", "lost", "doubled", "unclear"}


def test_a_run_fails_where_anything_was_found_or_nothing_was_tried() -> None:
    tried = CellResult(CELLS[0], planned=3, trials=3)
    skipped = CellResult(CELLS[1], planned=3, not_run="there is no disk")
    assert not failed([tried, skipped])
    assert failed([skipped])
    assert failed([CellResult(CELLS[0], planned=1, trials=1, findings=Findings(doubled=["twice"]))])


def test_the_table_says_what_was_not_run_and_why() -> None:
    tried = CellResult(CELLS[0], planned=3, trials=3, findings=Findings(lost=["a", "b"], torn=["c"]))
    skipped = CellResult(CELLS[1], planned=3, not_run="there is no disk")
    assert rows([tried, skipped]) == [
        (CELLS[0].name, "3", "1", "2", "0", "0"),
        (CELLS[1].name, "not run", "", "", "", ""),
        ("all", "3", "1", "2", "0", "0"),
    ]
    kept = markdown_table([tried, skipped], CIRCUMSTANCES)
    assert "2026-03-02, commit abc1234, seed 7" in kept
    assert f"{CELLS[1].name}: not run, there is no disk." in kept
    assert as_json([tried], CIRCUMSTANCES)["cells"][0]["lost"] == 2


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler on this machine")
def test_a_clock_of_their_own_jumps_and_leaves_the_monotonic_one_alone(tmp_path: Path) -> None:
    environment = clock_environment(tmp_path)
    clocks = "import time; print(int(time.time()), int(time.monotonic()))"

    def read() -> list[int]:
        said = subprocess.run([sys.executable, "-c", clocks], env=environment, capture_output=True, check=True)
        return [int(word) for word in said.stdout.split()]

    wall, monotonic = read()
    set_offset(tmp_path, 1_000_000)
    jumped, later = read()
    assert 1_000_000 <= jumped - wall < 1_000_100
    assert 0 <= later - monotonic < 100
