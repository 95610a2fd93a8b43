"""Damage to the files of a stopped enterprise: one flipped bit, one file cut off, or one file deleted.

`python -m tests.promises.damage --trials 1000` starts an enterprise on a damaged copy of a data folder, again and
again. Each episode and each snapshot must either be exactly as it was, or be in quarantine with its files.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from companyos.contract import ResetOptions
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.errors import CorruptSnapshotError, LostSnapshotError
from companyos_gateway.engine.quarantine import REASON
from companyos_shared.streams import Stream, digest
from companyos_shared.wire.context import Actor
from tests.promises import demo_scenario
from tests.promises.enterprise import Enterprise

MEMORY = Path("/dev/shm")
START_DEADLINE_S = 30.0
FLIP, TRUNCATE, DELETE = "bit flipped", "truncated", "deleted"
DAMAGES = (FLIP, TRUNCATE, DELETE)
HARMLESS, QUARANTINED, REFUSED, STOPPED = "harmless", "quarantined", "refused in use", "start refused"
"""Results of a damage. `refused in use`: a snapshot responds that its database is damaged or gone."""
RESULTS = (HARMLESS, QUARANTINED, REFUSED, STOPPED)
_WIDTH = 14
_SNAPSHOT_OF = "snapshot of "
_EPISODE_OF = "episode "
SNAPSHOT, SNAPSHOT_DATABASE, TEMPLATE = "snapshot", "database of a snapshot", "template"

_COMMENT = ("ticketdesk_add_comment", {"key": "OPS-301", "body": "A comment."})
_ISSUE = ("datahub_report_data_issue", {"subject": "MET-1", "kind": "stale", "description": "An issue."})
_NOTE = ("approvalflow_add_approval_note", {"request_id": "APR-1002", "body": "A note."})
_LIST = ("ticketdesk_list_tickets", {"limit": 3})
_WAIT = ("wait", {"minutes": 90})
_NEXT = (_LIST, _COMMENT, _ISSUE)

_KINDS = (
    ("gateway/episodes/*/manifest.json", "manifest"),
    ("gateway/episodes/*/*.jsonl", "journal"),
    ("gateway/snapshots/*", SNAPSHOT),
    ("gateway/*", "other file of the gateway"),
    ("*/episodes/*/*.db", "database"),
    ("*/episodes/*/*-wal", "write-ahead log"),
    ("*/episodes/*/*-shm", "shared memory"),
    ("*/snapshots/*", SNAPSHOT_DATABASE),
    ("*/templates/*", TEMPLATE),
    ("*", "other file of a service"),
)


@dataclass
class Outcome:
    """Result of a trial. `violations` is empty if every promise held."""

    file: str
    kind: str
    damage: str
    result: str = HARMLESS
    violations: list[str] = field(default_factory=list)


async def build(folder: Path) -> None:
    """Create the data folder of a killed enterprise with every kind of episode and snapshot."""
    enterprise = Enterprise(folder)
    await enterprise.start_gateway()
    engine, snapshots = enterprise.engine, enterprise.snapshots

    async def begin(label: str, *calls: tuple[str, dict[str, Any]], seed: int = 1) -> Episode:
        options = ResetOptions(scenario=demo_scenario.NAME, seed=seed, chaos=0, episode_id=label)
        episode = await engine.reset(options)
        for tool, arguments in calls:
            await engine.step(episode, tool, arguments)
        return episode

    await begin("untouched")
    await begin("reads", _LIST, _LIST)
    await begin("writes", _COMMENT, _ISSUE, _LIST, _COMMENT, _NOTE, _WAIT, seed=2)
    restored = await begin("restored", _COMMENT, _ISSUE)
    snapshot = await snapshots.take(restored)
    await engine.step(restored, *_COMMENT)
    await snapshots.restore(restored, snapshot.id)
    await engine.step(restored, *_NOTE)
    await snapshots.fork(snapshot.id, 1, "forked")
    away = await begin("away", _NOTE)
    await snapshots.take(away)
    await enterprise.free(away)
    open_step = await begin("open-step", _COMMENT)
    transport = enterprise.transports["ticketdesk"]
    transport.hangs = True
    step = asyncio.create_task(engine.step(open_step, *_COMMENT))
    await transport.is_stuck.wait()
    await enterprise.kill_gateway()
    assert step.cancelled()


@asynccontextmanager
async def started(folder: Path) -> AsyncIterator[Enterprise]:
    """Start an enterprise on a data folder; kill it on exit."""
    enterprise = Enterprise(folder)
    try:
        async with asyncio.timeout(START_DEADLINE_S):
            await enterprise.start_gateway()
        yield enterprise
    finally:
        await enterprise.kill_gateway()
        enterprise.close()


async def observe(enterprise: Enterprise) -> dict[str, str]:
    """Return a digest of everything visible of each episode and each snapshot, including its next steps."""
    found: dict[str, str] = {}
    engine = enterprise.engine
    for info in enterprise.snapshots.list_all():
        name = f"{_SNAPSHOT_OF}{info.episode_id}"
        try:
            (forked,) = await enterprise.snapshots.fork(info.id, 1, f"fork of {info.id[:8]}")
        except (CorruptSnapshotError, LostSnapshotError):
            found[name] = REFUSED
            continue
        found[name] = digest([info.model_dump(mode="json"), await _seen(engine, forked)])
        await enterprise.free(forked)
    for episode in enterprise.episodes():
        found[_EPISODE_OF + episode.id] = digest(await _seen(engine, episode))
    return found


async def _seen(engine: Any, episode: Episode) -> list[Any]:
    hidden = {"token", "episode_id"}
    seen: list[Any] = [episode.state().model_dump(mode="json", exclude=hidden)]
    for tool, arguments in _NEXT:
        seen.append((await engine.step(episode, tool, arguments)).model_dump(mode="json"))
    for service in demo_scenario.SERVICES:
        context = episode.context(service, Actor.TRAINER)
        reply = await engine.service_clients.digest(service, context, episode.seed_document(service))
        seen.append([reply.digest, episode.evidence.fold_digest(service)])
    return [*seen, episode.state().model_dump(mode="json", exclude=hidden)]


@dataclass(frozen=True)
class Expected:
    """State of an undamaged enterprise, and the files that its start removes."""

    seen: dict[str, str]
    removed: frozenset[str]
    named: dict[str, frozenset[str]]
    """The ids of the folders and databases of each visible episode or snapshot."""


class Campaign:
    """Trials over copies of one data folder."""

    def __init__(self, work: Path, seed: int) -> None:
        self._work = work
        self._seed = seed
        self._base = work / "base"
        self._expected: Expected | None = None

    async def prepare(self) -> None:
        """Build the data folder, and observe an undamaged copy."""
        live = self._work / "live"
        live.mkdir()
        await build(live)
        shutil.copytree(live, self._base)
        folder = self._copied()
        before = _contents(folder)
        async with started(folder) as enterprise:
            removed = before.keys() - _contents(folder).keys()
            named = _named(enterprise)
            self._expected = Expected(await observe(enterprise), frozenset(removed), named)
        shutil.rmtree(folder)

    async def trial(self, number: int) -> Outcome:
        """Damage a copy of the data folder as determined by the trial number, and judge the start on it."""
        stream = Stream("damage", self._seed, number)
        folder = self._copied()
        by_kind: dict[str, list[Path]] = {}
        for path in _files(folder):
            by_kind.setdefault(kind_of(path.relative_to(folder)), []).append(path)
        path = stream.choice(by_kind[stream.choice(sorted(by_kind))])
        damage = stream.choice(DAMAGES if path.stat().st_size else (DELETE,))
        outcome = Outcome(str(path.relative_to(folder)), kind_of(path.relative_to(folder)), damage)
        outcome.file += _apply(path, damage, stream)
        try:
            await self._judge(folder, outcome)
        except Exception as error:  # noqa: BLE001 - whatever a damaged file leads to is the finding
            outcome.result = STOPPED
            if path.name not in str(error):
                outcome.violations.append(f"{type(error).__name__} that does not name the file: {error}")
        finally:
            shutil.rmtree(folder)
        return outcome

    async def _judge(self, folder: Path, outcome: Outcome) -> None:
        assert self._expected is not None
        before = _contents(folder)
        async with started(folder) as enterprise:
            after = _contents(folder)
            quarantine = enterprise.quarantine
            items = quarantine.items()
            seen = await observe(enterprise)
        for content in before.keys() - after.keys() - self._expected.removed:
            if outcome.kind != TEMPLATE:  # it is created again from its document
                outcome.violations.append(f"{before[content]} was removed")
        kept = {item.internal_id for item in items} | {item.snapshot_id for item in items}
        outcome.violations += self._damage_violations(outcome, seen, kept)
        if REFUSED in seen.values() and outcome.kind in (SNAPSHOT, SNAPSHOT_DATABASE):
            outcome.result = REFUSED
        if items or quarantine.unknown_files:
            outcome.result = QUARANTINED

    def _damage_violations(self, outcome: Outcome, seen: dict[str, str], kept: set[str | None]) -> list[str]:
        """Return the violations by episodes and snapshots that are visible, and by those that are missing."""
        assert self._expected is not None
        missing = self._expected.seen.keys() - seen.keys()
        if outcome.kind == SNAPSHOT and outcome.damage == DELETE:  # nothing else lists snapshots
            missing = {name for name in missing if not name.startswith(_SNAPSHOT_OF)}
        named = self._expected.named
        refused = {name for name, value in seen.items() if value == REFUSED}
        if outcome.kind not in (SNAPSHOT, SNAPSHOT_DATABASE):
            refused.clear()
        changed = {name for name, value in seen.items() if value != self._expected.seen.get(name)} - refused
        neighbours = {name for name in missing | refused if not any(part in outcome.file for part in named[name])}
        return [
            *(f"{name} is gone and not in quarantine" for name in sorted(missing) if not named[name] & kept),
            *(f"{name} is harmed by damage to a file that it is not made of" for name in sorted(neighbours)),
            *(f"{name} is not what it was" for name in sorted(changed)),
        ]

    def _copied(self) -> Path:
        folder = self._work / "trial"
        shutil.copytree(self._base, folder)
        return folder


def _named(enterprise: Enterprise) -> dict[str, frozenset[str]]:
    """Return by episode and snapshot the ids in the paths of its folders, files and databases."""
    found = {
        _EPISODE_OF + episode.id: frozenset(
            {episode.internal_id, *(source for _service, source in episode.manifest.snapshot_sources())}
        )
        for episode in enterprise.episodes()
    }
    for info in enterprise.snapshots.list_all():
        files = enterprise.files_of_snapshot(info.id)
        found[_SNAPSHOT_OF + info.episode_id] = frozenset(Path(file).stem for file in files)
    return found


def kind_of(path: Path) -> str:
    """Return the kind of a file by its path below a data folder."""
    return next(kind for pattern, kind in _KINDS if path.match(pattern) or pattern == "*" or _below(path, pattern))


def _below(path: Path, pattern: str) -> bool:
    """Return whether a path is at any depth below the folder of a pattern that ends with `/*`."""
    return pattern.endswith("/*") and any(parent.match(pattern) for parent in path.parents)


def _apply(path: Path, damage: str, stream: Stream) -> str:
    """Damage a file, and return a description of the place."""
    content = bytearray(path.read_bytes())
    if damage == DELETE:
        path.unlink()
        return ""
    at = stream.integer(0, len(content) - 1)
    if damage == TRUNCATE:
        path.write_bytes(content[:at])
        return f" after byte {at} of {len(content)}"
    bit = stream.integer(0, 7)
    content[at] ^= 1 << bit
    path.write_bytes(content)
    return f" at byte {at}, bit {bit}"


def _files(folder: Path) -> list[Path]:
    """Return every file in the order of writing, independent of the random ids in the names."""
    return sorted((path for path in folder.rglob("*") if path.is_file()), key=lambda path: path.stat().st_mtime_ns)


def _contents(folder: Path) -> dict[str, str]:
    """Return a path for each distinct file content in the folder, without files that SQLite and locks create."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in ("lock", REASON) and not path.name.endswith(("-shm", "-wal")):
            content = path.read_bytes()
            if content:
                found[sha256(content).hexdigest()] = str(path.relative_to(folder))
    return found


def report(outcomes: list[Outcome]) -> str:
    """Return the table of a campaign."""
    counts = Counter((outcome.kind, outcome.damage, outcome.result) for outcome in outcomes)
    broken = Counter((outcome.kind, outcome.damage) for outcome in outcomes if outcome.violations)
    header = ("trials", *RESULTS, "violations")
    lines = [f"{'file':26} {'damage':12}" + "".join(f" {name:>{_WIDTH}}" for name in header)]
    for kind, damage in sorted({(outcome.kind, outcome.damage) for outcome in outcomes}):
        found = [counts[(kind, damage, result)] for result in RESULTS]
        row = (sum(found), *found, broken[(kind, damage)])
        lines.append(f"{kind:26} {damage:12}" + "".join(f" {number:{_WIDTH}}" for number in row))
    return "\n".join(lines)


async def run(trials: range, seed: int, *, quiet: bool = False) -> list[Outcome]:
    """Run the trials with the given numbers."""
    with tempfile.TemporaryDirectory(prefix="companyos-damage-", dir=MEMORY if MEMORY.is_dir() else None) as work:
        campaign = Campaign(Path(work), seed)
        await campaign.prepare()
        return [
            await campaign.trial(number)
            for number in track(trials, "Damaging files", console=Console(stderr=True), disable=quiet)
        ]


def main() -> int:
    """Run a campaign and print its table; return 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.promises.damage", description=__doc__)
    parser.add_argument("--trials", type=int, default=1000, help="how many (default: 1000)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first trial (default: 0)")
    parser.add_argument("--seed", type=int, default=0, help="what the trials are drawn from (default: 0)")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    outcomes = asyncio.run(run(range(options.first, options.first + options.trials), options.seed))
    for number, outcome in enumerate(outcomes, start=options.first):
        for violation in outcome.violations:
            sys.stdout.write(f"trial {number}: {outcome.damage} {outcome.file}: {violation}\n")
    sys.stdout.write(f"{report(outcomes)}\n")
    return any(outcome.violations for outcome in outcomes)


if __name__ == "__main__":
    sys.exit(main())
