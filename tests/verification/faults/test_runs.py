"""The fault suite end to end: its output, its files, and that it can fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT

pytestmark = pytest.mark.integration


@pytest.mark.timeout(180)
def test_a_run_prints_its_table_and_stores_its_results(tmp_path: Path) -> None:
    table = tmp_path / "table.md"
    command = [
        sys.executable,
        "-m",
        "verification.faults",
        "--cells",
        "client sends a step twice at once",
        "--trials",
        "1",
    ]
    response = subprocess.run(
        [*command, "--markdown", str(table)], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert response.returncode == 0, response.stdout + response.stderr
    assert "client sends a step twice at once" in response.stdout
    assert "| client sends a step twice at once | 1 | 0 | 0 | 0 | 0 |" in table.read_text()


@pytest.mark.timeout(180)
def test_an_interrupted_run_has_not_passed_and_reports_its_progress() -> None:
    cells = ["--cells", "client sends a step twice*", "--trials", "500", "--lanes", "1"]
    command = [sys.executable, "-m", "verification.faults", *cells]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as run:
        assert run.stderr is not None
        assert "of 500 trials" in run.stderr.readline()
        run.terminate()
        output, _ = run.communicate()
    assert run.returncode == 1
    assert "ended after " in output
    assert "client sends a step twice at once" in output


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_defect_is_detected() -> None:
    command = [sys.executable, "-m", "verification.faults", "--prove"]
    response = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert response.returncode == 0, response.stdout + response.stderr
