"""`python -m verification.plausibility`: plans instances and prints what is implausible about them, by rule."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product

from companyos_gateway.chaos import levels
from companyos_gateway.scenarios import catalogue
from verification.plausibility.facts import Finding
from verification.plausibility.rules import RULES, find_implausible

EXAMPLES = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Plan and check; return 1 where something is implausible."""
    options = _parser().parse_args(arguments)
    names = sorted(options.scenario or catalogue())
    chosen = [int(level) for level in options.levels.split(",")]
    tasks = list(product(range(options.first, options.first + options.seeds), names, chosen))
    found: Counter[str] = Counter()
    places: Counter[tuple[str, str]] = Counter()
    examples: dict[str, list[str]] = {name: [] for name in RULES}
    started = last = time.monotonic()
    for done, (seed, name, level) in enumerate(tasks, start=1):
        for finding in _check(name, seed, level):
            found[finding.rule] += 1
            places[finding.rule, finding.scenario] += 1
            if len(examples[finding.rule]) < options.examples:
                examples[finding.rule].append(str(finding))
        if time.monotonic() - last > 1 and sys.stderr.isatty():
            last = time.monotonic()
            sys.stderr.write(f"\r\x1b[2K{done}/{len(tasks)} instances, {found.total()} findings, seed {seed} {name}")
            sys.stderr.flush()
    seconds = time.monotonic() - started
    print(f"\n{len(tasks)} instances, {found.total()} findings, {seconds:.0f} s")
    for rule, count in found.most_common():
        where = ", ".join(f"{name} {n}" for (one, name), n in places.most_common() if one == rule)
        print(f"{rule}: {count} ({where})")
        for line in examples[rule]:
            print(f"    {line}")
    return 1 if found else 0


def _check(name: str, seed: int, level: int) -> Iterator[Finding]:
    return find_implausible(catalogue()[name].plan(seed, level))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m verification.plausibility", description=main.__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds per scenario and level")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--scenario", action="append", help="check only this scenario; may be repeated")
    parser.add_argument("--levels", default=",".join(map(str, levels())), help="chaos levels, separated by commas")
    parser.add_argument("--examples", type=int, default=EXAMPLES, help="findings to print per rule")
    return parser


if __name__ == "__main__":
    sys.exit(main())
