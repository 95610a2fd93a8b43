"""Plays every scenario and compares what agents observed with `results/recorded-episodes.csv`.

`make recorded-episodes` fails with a list of the episodes that differ; `ARGS=--write` records them anew, and
`ARGS="--scenario NAME"` plays one scenario. A digest is the sha256 of all observations, rewards and `done` flags of an
episode, so a change of one byte that an agent sees changes it. Use it to show that a refactoring changes no behaviour.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import hashlib
import json
import sys
import urllib.request
from pathlib import Path

from rich.progress import track

from companyos.enterprise import Enterprise
from companyos.runner import EpisodePlan, PlayedEpisode, play_all

FILE = Path(__file__).resolve().parents[1] / "results" / "recorded-episodes.csv"
POLICIES = ("oracle", "random")
LEVELS = range(5)
SEEDS = range(4)
PARALLEL = 4
HINT = "If the change is intended, run `make recorded-episodes ARGS=--write` and commit the file."

Rows = dict[str, tuple[str, ...]]
"""By name: (digest, return, steps, outcome) of an episode; (sha256,) of a document."""


def main() -> int:
    """Return 0 if all observations equal the file, or were written to it."""
    parser = argparse.ArgumentParser(prog="python -m verification.recorded_episodes", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the file instead of comparing with it")
    parser.add_argument("--scenario", help="play only this scenario, and keep the other rows")
    options = parser.parse_args()
    with Enterprise() as enterprise:
        names = [scenario["name"] for scenario in _get(enterprise.url, "/v1/scenarios")]
        if options.scenario not in (None, *names):
            parser.error(f"--scenario must be one of {', '.join(names)}; got {options.scenario}")
        observed = _documents(enterprise.url)
        for name in track([options.scenario] if options.scenario else names, "Playing"):
            observed |= asyncio.run(play(enterprise.url, plans(name)))
    recorded = read_rows()
    kept = recorded if options.scenario else {}
    if options.write:
        _write(kept | observed)
        print(f"{len(observed)} rows written to {FILE.relative_to(Path.cwd())}")
        return 0
    compared = observed.keys() if options.scenario else recorded.keys() | observed.keys()
    different = sorted(name for name in compared if recorded.get(name) != observed.get(name))
    for name in different:
        print(f"{name}: recorded {recorded.get(name)}, observed {observed.get(name)}")
    print(f"{len(compared) - len(different)} of {len(compared)} rows match")
    if different:
        print(HINT)
    return 1 if different else 0


def plans(scenario: str) -> list[EpisodePlan]:
    """Return the plans of a scenario's recorded episodes."""
    return [
        EpisodePlan(scenario=scenario, seed=seed, chaos=level, policy=policy)
        for policy in POLICIES
        for level in LEVELS
        for seed in SEEDS
    ]


async def play(url: str, planned: list[EpisodePlan]) -> Rows:
    """Play episodes and return their rows."""
    return {_name(played): _row(played) for played in await play_all(url, planned, parallel=PARALLEL)}


def read_rows() -> Rows:
    """Return the recorded rows."""
    with FILE.open(newline="") as file:
        return {name: tuple(row) for name, *row in csv.reader(file)}


def _name(played: PlayedEpisode) -> str:
    plan = played.plan
    return f"{plan.scenario} level {plan.chaos} seed {plan.seed} {plan.policy}"


def _row(played: PlayedEpisode) -> tuple[str, ...]:
    record = played.record
    return record.digest, f"{record.return_:.6f}", str(record.steps), record.outcome.value


def _documents(url: str) -> Rows:
    """Return the digests of the tool documentation."""
    return {f"GET {path}": (_digest(_get(url, path)),) for path in ("/v1/tools", "/v1/scenarios")}


def _get(url: str, path: str) -> list[dict[str, str]]:
    with urllib.request.urlopen(f"{url}{path}") as response:
        document: list[dict[str, str]] = json.load(response)
    return document


def _digest(document: object) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def _write(rows: Rows) -> None:
    with FILE.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows((name, *row) for name, row in sorted(rows.items()))


if __name__ == "__main__":
    sys.exit(main())
