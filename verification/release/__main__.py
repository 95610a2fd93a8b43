"""`python -m verification.release wheels|check`: builds a release, or builds it and uses it in clean environments."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from verification.git import commit
from verification.reference.markdown import table
from verification.release.environments import CommandError, find_pythons
from verification.release.trial import Size, Step, Trial
from verification.release.versions import check_versions
from verification.release.wheels import DIST, build_release, locked_versions
from verification.uv import ROOT, UvError

PYTHONS = ("3.11", "3.12", "3.13")
_LINE = "{:<7} {:<22} {:>6}  {}"


def main() -> int:
    """Return 1 if a step failed, 2 if the release could not be built or no Python was found."""
    options = _parser().parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # also stops the gateway and its services
    try:
        files = build_release(options.dist.resolve())
        if options.command == "check":
            return _check(options, [file for file in files if file.suffix == ".whl"])
    except (UvError, OSError) as error:
        print(f"error: the release could not be built: {error}", file=sys.stderr)
        return 2
    for file in files:
        print(f"{file.stat().st_size / 1000:>8.1f} kB  {file.name}")
    return 0


def _check(options: argparse.Namespace, wheels: list[Path]) -> int:
    found = find_pythons(options.python or PYTHONS)
    pythons = {version: python for version, python in found.items() if python is not None}
    missing = [version for version in found if version not in pythons]
    print(_LINE.format("python", "step", "s", "result"))
    for version in missing:
        print(_LINE.format(version, "", "", "not found"))
    if not pythons:
        return 2
    steps, sizes = [_check_versions(wheels)], []
    with tempfile.TemporaryDirectory(prefix="companyos-release-") as folder:
        locked = Path(folder) / "locked.txt"
        locked.write_text(locked_versions())
        # uv caches wheels by folder and version, so wheels of another build in this folder could be installed instead.
        dist = Path(shutil.copytree(options.dist, Path(folder) / "dist"))
        for version, python in pythons.items():
            trial = Trial(version, python, Path(folder) / version, dist, locked, _print_step)
            trial.run()
            steps += trial.steps
            sizes += trial.sizes
    if options.out is not None:
        machine = f"{os.cpu_count()} cores with a load of {os.getloadavg()[-1]:.0f}"
        heading = f"{time.strftime('%-d %B %Y', time.gmtime())}, commit `{commit()}`, {machine}"
        options.out.write_text(results_page(heading, steps[0].detail or steps[0].problem, steps[1:], sizes, missing))
    return int(any(step.problem for step in steps))


def _check_versions(wheels: list[Path]) -> Step:
    began, detail, problem = time.monotonic(), "", ""
    try:
        detail = check_versions(ROOT, wheels)
    except CommandError as error:
        problem = str(error)
    step = Step("", "versions", time.monotonic() - began, detail, problem)
    _print_step(step)
    return step


def _print_step(step: Step) -> None:
    result = f"FAILED: {step.problem}" if step.problem else step.detail or "ok"
    print(_LINE.format(step.python, step.name, f"{step.seconds:.1f}", result), flush=True)


def results_page(
    heading: str, versions: str, steps: Sequence[Step], sizes: Sequence[Size], missing: Sequence[str]
) -> str:
    """Return the page as Markdown. `heading` states time and place, `versions` the checked release."""
    pythons = list(dict.fromkeys(step.python for step in steps))
    parts = [
        "# Release check",
        f"`make release-check`, {heading}: {versions}.",
        "Each environment is outside the repository and has packages from wheels alone.",
        "## Steps",
        table(("step", "result", *(f"Python {python}, s" for python in pythons)), _step_rows(steps, pythons)),
        "## Sizes",
        "Without bytecode. `client` is `pip install companyos`, `small client` is `requirements-client.txt`.",
        table(("environment", "Python", "packages", "MB"), [_size_row(size) for size in sizes]),
    ]
    if missing:
        parts.insert(3, f"Not found on this machine: Python {', '.join(missing)}.")
    return "\n\n".join(parts) + "\n"


def _step_rows(steps: Sequence[Step], pythons: Sequence[str]) -> list[tuple[str, ...]]:
    rows = []
    for name in dict.fromkeys(step.name for step in steps):
        taken = {step.python: step for step in steps if step.name == name}
        failed = [f"FAILED on {one.python}: {_last_line(one.problem)}" for one in taken.values() if one.problem]
        details = list(dict.fromkeys(one.detail for one in taken.values() if not one.problem))
        seconds = [f"{taken[python].seconds:.1f}" if python in taken else "" for python in pythons]
        rows.append((name, "; ".join(failed or details[:1]), *seconds))
    return rows


def _size_row(size: Size) -> tuple[str, ...]:
    return size.environment, size.python, str(size.packages), f"{size.megabytes:.0f}"


def _last_line(problem: str) -> str:
    return problem.strip().splitlines()[-1].replace("|", "\\|")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m verification.release", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (("wheels", "build wheels, SBOM and checksums"), ("check", "build them and use them")):
        command = commands.add_parser(name, help=text)
        command.add_argument("--dist", type=Path, default=DIST, help="folder of the release (default: dist)")
    command.add_argument("--python", action="append", metavar="3.12", help="only this version; repeat for several")
    command.add_argument("--out", type=Path, metavar="FILE", help="write the results to this Markdown file")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
