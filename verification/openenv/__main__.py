"""`python -m verification.openenv [PART...]`: runs OpenEnv's validator and the project's graders, and prints one line
per check.

`python -m verification.openenv --package FOLDER` only writes the package for `openenv validate`, `build` and `push`.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

from companyos.enterprise import Enterprise
from verification.openenv.graders import Graders
from verification.openenv.manifest import canaries, manifest, runtime_plan
from verification.openenv.package import assemble
from verification.openenv.validator import CheckLine, CheckOutcome, runtime_lines, static_lines, url_lines

MODES = ("simulation", "production")


def main() -> None:
    """Run the selected parts; the exit status is 1 if a check fails."""
    parser = argparse.ArgumentParser(prog="python -m verification.openenv", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help=f"one of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--package", type=Path, metavar="FOLDER", help="only write the package to FOLDER")
    options = parser.parse_args()
    if options.package is not None:
        assemble(options.package)
        return
    logging.disable(logging.WARNING)
    outcomes = []
    for part in options.parts or PARTS:
        for line in PARTS[part]():
            print(line, flush=True)
            outcomes.append(line.outcome)
    print(" ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in CheckOutcome))
    raise SystemExit(int(CheckOutcome.FAIL in outcomes))


def _static() -> Iterator[CheckLine]:
    with tempfile.TemporaryDirectory(prefix="companyos-package-") as folder:
        assemble(Path(folder))
        yield from static_lines(Path(folder))


def _runtime() -> Iterator[CheckLine]:
    with tempfile.TemporaryDirectory(prefix="companyos-package-") as folder:
        assemble(Path(folder))
        yield from runtime_lines(Path(folder))


def _url() -> Iterator[CheckLine]:
    for mode in MODES:
        with Enterprise(alone=True, settings={"OPENENV_MODE": mode}) as enterprise:
            yield from url_lines(enterprise.url, mode)


def _graders() -> Iterator[CheckLine]:
    declared = manifest()
    with Enterprise(alone=True) as enterprise, asyncio.Runner() as runner:
        lines = Graders(enterprise.url, declared, runtime_plan(declared.execution), canaries()).lines()
        while (line := runner.run(_next(lines))) is not None:
            yield line


async def _next(lines: AsyncIterator[CheckLine]) -> CheckLine | None:
    return await anext(lines, None)


PARTS: dict[str, Callable[[], Iterator[CheckLine]]] = {
    "static": _static,
    "url": _url,
    "graders": _graders,
    "runtime": _runtime,
}

if __name__ == "__main__":
    main()
