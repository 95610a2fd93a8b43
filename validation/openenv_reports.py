"""OpenEnv's own validator, its three levels, and its reports as lines."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from openenv.cli._validation import validate_running_environment
from openenv.validation import Level, run_validation
from openenv.validation.report import CheckResult
from openenv.validation.types import CheckStatus

from validation.lines import Ending, Line

NOT_IMPLEMENTED = "grader not implemented in this build"
URL_TIMEOUT_S = 15.0
_ENDINGS = {CheckStatus.PASS: Ending.PASS, CheckStatus.SKIP: Ending.SKIP}


def static_lines(package: Path) -> Iterator[Line]:
    """Yield what the validator says of the manifest."""
    report = run_validation(package, max_level=Level.STATIC)
    yield from _lines("openenv static", report.results, report.verdict.value)


def runtime_lines(package: Path) -> Iterator[Line]:
    """Yield what the validator says of the image, which it builds and starts in its sandbox."""
    if subprocess.run(["docker", "info"], capture_output=True, check=False).returncode:
        yield Line("openenv runtime", "runtime", Ending.SKIP, "not run: there is no Docker Engine here")
        return
    report = run_validation(package, max_level=Level.SEMANTIC)
    yield from _lines("openenv runtime", report.results, report.verdict.value)


def url_lines(url: str, mode: str) -> Iterator[Line]:
    """Yield what the validator says of a running server."""
    report = validate_running_environment(url, timeout_s=URL_TIMEOUT_S)
    part = f"openenv {mode}"
    for found in report["criteria"]:
        ending = Ending.PASS if found["passed"] else Ending.FAIL
        yield Line(part, found["id"], ending, found.get("details", ""))
    passed, asked = report["summary"]["passed_count"], report["summary"]["total_count"]
    is_right = report["passed"] and report["mode"] == mode
    yield Line(
        part, "verdict", Ending.PASS if is_right else Ending.FAIL, f"{passed} of {asked}, seen as {report['mode']}"
    )


def _lines(part: str, results: Iterable[CheckResult], verdict: str) -> Iterator[Line]:
    unknown = []
    for result in results:
        if result.status is CheckStatus.SKIP and result.evidence == [NOT_IMPLEMENTED]:
            unknown.append(result.check_id)
            continue
        says = "; ".join(result.evidence)
        yield Line(
            part, result.check_id, _ENDINGS.get(result.status, Ending.FAIL), f"{says} ({result.duration_s:.1f} s)"
        )
    if unknown:
        yield Line(part, "not implemented by OpenEnv", Ending.SKIP, f"{len(unknown)} checks")
    yield Line(part, "verdict", Ending.FAIL if verdict == "fail" else Ending.PASS, verdict.upper())
