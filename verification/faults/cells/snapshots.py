"""Damaged snapshots: they are refused with a clear error, and the live episode continues."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

from verification.faults.deployment import GATEWAY, SERVICES
from verification.faults.gateway_client import Kind, Response
from verification.faults.player import Player
from verification.faults.trial import Cell, Trial

Damage = Callable[[Trial, Path], None]

INTO_EVERY_SERVICE = 3
"""Number of steps after which every service was written to."""

GONE = frozenset({"snapshot-corrupt", "snapshot-lost", "unknown-snapshot"})
FOREIGN = frozenset({"foreign-snapshot"})


def flip_a_bit(trial: Trial, path: Path) -> None:
    """Flip one bit of the file."""
    content = bytearray(path.read_bytes())
    content[trial.rng.randrange(len(content))] ^= 1 << trial.rng.randrange(8)
    path.write_bytes(content)


def truncate(trial: Trial, path: Path) -> None:
    """Truncate the file."""
    content = path.read_bytes()
    path.write_bytes(content[: trial.rng.randrange(len(content))])


def remove(_trial: Trial, path: Path) -> None:
    """Delete the file."""
    path.unlink()


async def damaged(trial: Trial, *, damage: Damage, place: str) -> None:
    """Damage one part of a snapshot; restore and fork must be refused without any change."""
    player, _ = await trial.open_players(2, snapshot=True, least=INTO_EVERY_SERVICE)
    (snapshot,) = player.snapshots
    before = {path for service in SERVICES for path in _sources(trial, service)}
    await player.step()
    part = _part_of(trial, place, snapshot)
    if part is None:
        trial.findings.unclear.append(f"no file of {snapshot} in {place}: {sorted(before)}")
        return
    content = part.read_bytes()
    damage(trial, part)
    live = await _live(trial)
    for response in (await _restore(trial, player, snapshot), await _fork(trial, snapshot)):
        _expect(trial, response, GONE)
    if await _live(trial) != live:
        trial.findings.torn.append(f"a refused fork changed the list of episodes: {snapshot}")
    part.write_bytes(content)
    if not await player.restore(snapshot):
        trial.findings.lost.append(f"{snapshot} cannot be restored after its bytes were repaired")
    await trial.judge()


async def start_beside_damage(trial: Trial, *, damage: Damage) -> None:
    """Start the gateway with a damaged snapshot; it must start with everything else intact."""
    player, _ = await trial.open_players(2, snapshot=True)
    (snapshot,) = player.snapshots
    damage(trial, trial.deployment.data / GATEWAY / "snapshots" / f"{snapshot}.jsonl")
    await trial.deployment.restart([GATEWAY])
    _expect(trial, await _fork(trial, snapshot), GONE)
    del player.snapshots[snapshot]
    await trial.deployment.client.request("DELETE", f"/v1/snapshots/{snapshot}")
    await trial.judge()


async def other_format(trial: Trial) -> None:
    """Restore a snapshot whose bytes match its hash but whose format is unknown."""
    player, _ = await trial.open_players(2, snapshot=True)
    (snapshot,) = player.snapshots
    folder = trial.deployment.data / GATEWAY / "snapshots"
    content = (folder / f"{snapshot}.jsonl").read_bytes().replace(b'"format":2', b'"format":9', 1)
    later = hashlib.sha256(content).hexdigest()[: len(snapshot)]
    (folder / f"{later}.jsonl").write_bytes(content)
    for response in (await _restore(trial, player, later), await _fork(trial, later)):
        _expect(trial, response, GONE)
    await trial.deployment.client.request("DELETE", f"/v1/snapshots/{later}")
    await trial.judge()


async def foreign(trial: Trial) -> None:
    """Restore another episode's snapshot; it must be refused without any change."""
    player, neighbour = await trial.open_players(2, snapshot=True)
    (snapshot,) = neighbour.snapshots
    _expect(trial, await _restore(trial, player, snapshot), FOREIGN)
    await trial.judge()


async def torn_line(trial: Trial) -> None:
    """Start the gateway on a journal with a truncated last line."""
    player, _ = await trial.open_players(2)
    folder = (await trial.deployment.client.request("GET", f"/v1/episodes/{player.name}/evidence")).body["folder"]
    await trial.deployment.kill([GATEWAY])
    journals = sorted((trial.deployment.data / GATEWAY / "episodes" / folder).glob("*.jsonl"))
    line = journals[-1].read_bytes().splitlines(keepends=True)[-1]
    with journals[-1].open("ab") as journal:
        journal.write(line[: trial.rng.randrange(1, len(line))])
    await trial.deployment.start_processes([GATEWAY])
    await trial.judge()


def _sources(trial: Trial, service: str) -> list[Path]:
    return sorted((trial.deployment.data / service / "snapshots").glob("*.db"))


def _part_of(trial: Trial, place: str, snapshot: str) -> Path | None:
    header = trial.deployment.data / GATEWAY / "snapshots" / f"{snapshot}.jsonl"
    if place == GATEWAY:
        return header if header.exists() else None
    named = header.read_text(errors="replace").partition("\n")[0]
    return next((path for path in _sources(trial, place) if path.stem in named), None)


async def _restore(trial: Trial, player: Player, snapshot: str) -> Response:
    return await trial.deployment.client.request("POST", f"/v1/episodes/{player.name}/restore", {"snapshot": snapshot})


async def _fork(trial: Trial, snapshot: str) -> Response:
    return await trial.deployment.client.request("POST", f"/v1/snapshots/{snapshot}/fork", {"count": 3})


async def _live(trial: Trial) -> list[str]:
    return sorted(state["episode_id"] for state in (await trial.deployment.client.request("GET", "/v1/episodes")).body)


def _expect(trial: Trial, response: Response, codes: frozenset[str]) -> None:
    if response.kind is Kind.REFUSED and response.code in codes:
        return
    kind = trial.findings.torn if response.is_done else trial.findings.unclear
    kind.append(f"a damaged snapshot got {response}; expected one of {sorted(codes)}")


DAMAGES: dict[str, Damage] = {"flipped bit": flip_a_bit, "truncated": truncate, "missing": remove}

CELLS = [
    *(
        Cell(f"snapshot in {place}: {name}", partial(damaged, damage=damage, place=place), full=6)
        for place in (GATEWAY, *SERVICES)
        for name, damage in DAMAGES.items()
    ),
    Cell("snapshot of another format", other_format, full=6),
    Cell("snapshot of another episode", foreign, full=6),
    *(
        Cell(f"start with a damaged snapshot: {name}", partial(start_beside_damage, damage=damage), full=5)
        for name, damage in DAMAGES.items()
    ),
    Cell("start on a journal with a torn line", torn_line, full=6),
]
