"""What a gateway does at its start: it finds its episodes from manifests and journals alone, and forgets the rest."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime

from companyos_gateway.episode.environment import Stage
from companyos_gateway.episode.errors import GatewayProblem, HouseFault, JournalUnreadable
from companyos_gateway.episode.files import EpisodeFiles
from companyos_gateway.episode.journal import entries
from companyos_gateway.episode.manifest import Manifest
from companyos_gateway.episode.progress import Progress, fold
from companyos_gateway.episode.snapshots import Snapshots
from companyos_gateway.episode.task import Task
from companyos_shared.wire.context import Actor, CallContext
from companyos_shared.wire.control import SweepRequest

_SWEEPING_EPISODE = "sweeping"
_NO_SOURCE = "0" * 64
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_AT_ONCE = 16
_PAUSE_S = 0.5
_log = logging.getLogger(__name__)


async def recover(stage: Stage, files: EpisodeFiles, snapshots: Snapshots) -> int:
    """Take in every episode that the files tell of, each with its open step completed; return how many there are.

    An episode that cannot be found again as it was is dropped as a whole.
    """
    snapshots.find()
    manifests = list(files.manifests())
    places = asyncio.Semaphore(_AT_ONCE)

    async def found(manifest: Manifest) -> bool:
        async with places:
            return await _found(stage, files, manifest)

    live = [manifest for manifest in manifests if not manifest.is_over]
    count = sum(await asyncio.gather(*(found(manifest) for manifest in live)))
    snapshots.look_after(stage.store)
    kept = [manifest.internal_id for manifest in manifests if manifest.is_over]
    await _sweep(stage, snapshots, kept)
    return count


async def _found(stage: Stage, files: EpisodeFiles, manifest: Manifest) -> bool:
    try:
        task = await _planned(stage, manifest)
        if dict(task.sources) != manifest.planned:
            raise JournalUnreadable("the task is planned otherwise than it was")
        journal = files.journal(manifest)
        progress = Progress.start(task, manifest.options)
        open_step = fold(progress, task, entries(journal.lines()))
    except (GatewayProblem, JournalUnreadable) as error:
        _log.error("the episode %s is lost: %s", manifest.internal_id, error)
        files.remove(manifest.internal_id)
        return False
    progress.touched.update(task.sources)
    episode = stage.store.adopt(manifest, task, progress, journal)
    if open_step is not None:
        async with episode.turn():
            await stage.take(episode, open_step)
        _log.info("step %d of the episode %s was completed", open_step.step, episode.internal_id)
    return True


async def _planned(stage: Stage, manifest: Manifest) -> Task:
    """Plan the task of an episode again; a service that is away for a while is waited for."""
    while True:
        try:
            return await stage.shelf.task(manifest.task)
        except HouseFault as fault:
            _log.warning("the episode %s waits: %s", manifest.internal_id, fault)
            await asyncio.sleep(_PAUSE_S)


async def _sweep(stage: Stage, snapshots: Snapshots, kept: list[str]) -> None:
    """Let every service forget what no manifest and no snapshot names."""
    episodes = sorted([*kept, *(episode.internal_id for episode in stage.store)])
    asked = SweepRequest(episodes=episodes, sources=sorted(snapshots.sources()))
    context = CallContext(
        episode=_SWEEPING_EPISODE, epoch=1, source=_NO_SOURCE, step=0, actor=Actor.TRAINER, now=_LONG_AGO
    )
    for service in stage.cluster.links:
        try:
            await stage.cluster.sweep(service, context, asked)
        except HouseFault as fault:
            _log.warning("%s was not swept: %s", service, fault)
