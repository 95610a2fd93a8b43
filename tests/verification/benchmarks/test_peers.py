"""`make bench-peers`: reports, ratios and reasons; each script runs only in its own environment."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from verification.benchmarks.peers import timing
from verification.benchmarks.peers.__main__ import PEERS, PeerReport, report_lines
from verification.benchmarks.peers.timing import READ, SAME_TASK, measure, print_report
from verification.clients.environments import ScriptFailedError, parse_report, reason_of

MISSING = "No solution found: Because a-package was not found in the package registry and you require a-package, we can"


def test_a_printed_report_is_parsed_from_the_last_line(capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[int] = []
    sys.stdout.write("a library prints a line\n")
    print_report("pytest", "in process", measure(READ, "append", 3, calls.append, lambda: calls.append(-1)))
    report = parse_report(capsys.readouterr().out, PeerReport)
    assert calls == [0, -1, 1, -1, 2, -1]
    assert report.version == f"pytest {pytest.__version__}"
    assert [(operation.kind, operation.count) for operation in report.operations] == [(READ, 3)]


@pytest.mark.parametrize("output", ["", "done", '{"version": "1", "transport": "in process", "operations": []}'])
def test_an_output_without_a_report_is_a_failure(output: str) -> None:
    with pytest.raises(ScriptFailedError, match="not a report"):
        parse_report(output, PeerReport)


def test_a_ratio_compares_only_operations_of_the_same_kind() -> None:
    operations = [
        {"kind": kind, "detail": "a call", "count": 5, "p50_ms": 3000.0} for kind in (SAME_TASK, "step, other")
    ]
    report = parse_report(
        json.dumps({"version": "peer 1", "transport": "in process", "operations": operations}), PeerReport
    )
    title, same, other = report_lines("Peer", report, {SAME_TASK: 2.0})
    assert title == "Peer (peer 1; in process)"
    assert same.split() == ["reset,", "same", "task", "5", "3,000.00", "1,500.00", "a", "call"]
    assert other.split() == ["step,", "other", "5", "3,000.00", "-", "a", "call"]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (MISSING, "a-package was not found in the package registry"),
        ("Traceback (most recent call last):\n  File\nKeyError: 'x'\n", "KeyError: 'x'"),
        ("x" * 300, "x" * 200 + " ..."),
        ("", "no output"),
    ],
)
def test_a_reason_is_one_short_line(message: str, reason: str) -> None:
    assert reason_of(message) == reason


def test_every_script_belongs_to_a_peer() -> None:
    scripts = {peer.script for peer in PEERS}
    assert scripts == {path.name for path in Path(timing.__file__).parent.glob("run_*.py")}
