"""Runs OpenEnv's validator at its three levels. Each check is a line with its outcome and measurement."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from openenv.cli._validation import validate_running_environment
from openenv.validation import Level, run_validation
from openenv.validation.report import CheckResult
from openenv.validation.types import CheckStatus

NOT_IMPLEMENTED = "grader not implemented in this build"
URL_TIMEOUT_S = 15.0


class CheckOutcome(StrEnum):
    """The outcome of a check; a check that could not run counts as not passed."""

    PASS = "PASS"  # noqa: S105  # no password
    FAIL = "FAIL"
    SKIP = "SKIP"


@dataclass(frozen=True)
class CheckLine:
    """One check of one part."""

    part: str
    check: str
    outcome: CheckOutcome
    details: str = ""

    def __str__(self) -> str:
        return f"{self.outcome}  {self.part:<18} {self.check:<36} {self.details}".rstrip()


def check_line(part: str, check: str, *, holds: bool, details: str) -> CheckLine:
    """Return the line of a check that was run."""
    return CheckLine(part, check, CheckOutcome.PASS if holds else CheckOutcome.FAIL, details)


_OUTCOMES = {CheckStatus.PASS: CheckOutcome.PASS, CheckStatus.SKIP: CheckOutcome.SKIP}


def static_lines(package: Path) -> Iterator[CheckLine]:
    """Yield the validator's lines about the manifest."""
    report = run_validation(package, max_level=Level.STATIC)
    yield from _lines("openenv static", report.results, report.verdict.value)


def runtime_lines(package: Path) -> Iterator[CheckLine]:
    """Yield the validator's lines about the image, which it builds and starts in its sandbox."""
    if subprocess.run(["docker", "info"], capture_output=True, check=False).returncode:
        yield CheckLine("openenv runtime", "runtime", CheckOutcome.SKIP, "not run: no Docker Engine")
        return
    report = run_validation(package, max_level=Level.SEMANTIC)
    yield from _lines("openenv runtime", report.results, report.verdict.value)


def url_lines(url: str, mode: str) -> Iterator[CheckLine]:
    """Yield the validator's lines about a running server."""
    report = validate_running_environment(url, timeout_s=URL_TIMEOUT_S)
    part = f"openenv {mode}"
    for found in report["criteria"]:
        outcome = CheckOutcome.PASS if found["passed"] else CheckOutcome.FAIL
        yield CheckLine(part, found["id"], outcome, found.get("details", ""))
    passed, total = report["summary"]["passed_count"], report["summary"]["total_count"]
    is_right = report["passed"] and report["mode"] == mode
    yield CheckLine(
        part,
        "verdict",
        CheckOutcome.PASS if is_right else CheckOutcome.FAIL,
        f"{passed} of {total}, seen as {report['mode']}",
    )


def _lines(part: str, results: Iterable[CheckResult], verdict: str) -> Iterator[CheckLine]:
    not_implemented = []
    for result in results:
        if result.status is CheckStatus.SKIP and result.evidence == [NOT_IMPLEMENTED]:
            not_implemented.append(result.check_id)
            continue
        details = "; ".join(result.evidence)
        yield CheckLine(
            part,
            result.check_id,
            _OUTCOMES.get(result.status, CheckOutcome.FAIL),
            f"{details} ({result.duration_s:.1f} s)",
        )
    if not_implemented:
        yield CheckLine(part, "not implemented by OpenEnv", CheckOutcome.SKIP, f"{len(not_implemented)} checks")
    yield CheckLine(part, "verdict", CheckOutcome.FAIL if verdict == "fail" else CheckOutcome.PASS, verdict.upper())
