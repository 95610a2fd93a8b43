"""The running house: services found or brought up, tools discovered, episodes kept, all of it stopped in order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from openenv.core.env_server.types import Observation

from companyos.contract import Modality, ResetOptions
from companyos_gateway.browser.window_manager import WindowManager
from companyos_gateway.chaos import levels, profile_for
from companyos_gateway.episode.cluster import Cluster
from companyos_gateway.episode.environment import Stage
from companyos_gateway.episode.episode import Episode
from companyos_gateway.episode.errors import (
    EpisodeQuarantinedError,
    GatewayProblem,
    InternalError,
    InvalidReset,
    ServicesDown,
    UnknownScenario,
)
from companyos_gateway.episode.files import EpisodeFiles
from companyos_gateway.episode.leases import owner_of
from companyos_gateway.episode.limits import EpisodeLimits
from companyos_gateway.episode.observations import StepObservation
from companyos_gateway.episode.quarantine import Quarantine
from companyos_gateway.episode.recovery import Recovery
from companyos_gateway.episode.schemas import published
from companyos_gateway.episode.snapshot_files import SnapshotFiles
from companyos_gateway.episode.snapshots import Snapshots
from companyos_gateway.episode.task import TaskShelf
from companyos_gateway.episode.tokens import EpisodeTokens, read_or_make_secret
from companyos_gateway.episode.toolbox import build_toolbox
from companyos_gateway.evaluation import FinishDeclaration
from companyos_gateway.scenarios import Scenario, catalogue
from companyos_gateway.scenarios.validation import check_catalogue
from companyos_gateway.server.browser_sessions import BrowserSessions
from companyos_gateway.server.discovery import discover
from companyos_gateway.server.embedded import EmbeddedServices
from companyos_gateway.server.folders import held_folder, private_folder
from companyos_gateway.server.rate_limits import charge_episode
from companyos_gateway.settings import Settings
from companyos_gateway.viewer.archive import ArchivingStore
from companyos_gateway.viewer.finished_episodes import FinishedEpisodes
from companyos_gateway.viewer.recorder import ViewerRecorder
from companyos_gateway.viewer.stored_runs import DEFAULT_RUNS_DIR, StoredRuns
from companyos_shared import descriptors
from companyos_shared.telemetry.traces import traces_of

LETTING_GO_S = 1.5
"""So long the end waits for services to drop what they hold; whatever they keep is dropped after the next start."""

_log = logging.getLogger(__name__)


class House:
    """Everything that one gateway process holds. `cluster` is given by tests; else it follows from the settings."""

    def __init__(
        self,
        settings: Settings,
        *,
        cluster: Cluster | None = None,
        scenarios: Mapping[str, Scenario] | None = None,
    ) -> None:
        self.settings = settings
        self.watch = ViewerRecorder(traces_of("gateway"))
        self._runs: StoredRuns | None = None
        self.window_manager = WindowManager(self)
        self.sessions = BrowserSessions()
        self._cluster = cluster
        self._scenarios = scenarios
        self._stage: Stage | None = None
        self._snapshots: Snapshots | None = None
        self._quarantine: Quarantine | None = None
        self._reaping: asyncio.Task[None] | None = None
        self._background: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.data_dir: Path | None = None

    def stage(self) -> Stage:
        """Return the stage; raises ServicesDown (503) while the services have not been found."""
        if self._stage is None:
            raise ServicesDown("The services have not answered yet.")
        return self._stage

    async def begin(
        self, options: ResetOptions, previous: Episode | None = None, holder: object | None = None
    ) -> Episode:
        """Start an episode, fork a snapshot or go on with a live episode, as the options say, for a connection.

        Raises a GatewayProblem; `previous`, whose place a started or forked one would take, then goes on untouched.
        """
        stage = self.stage()
        try:
            if options.resume is not None:
                with self.watch.act("resume"):
                    resumed = await stage.resume(options.resume, holder)
                charge_episode(resumed.id)
                return resumed
            if options.injected_state is not None:
                taken, label = options.injected_state.snapshot, options.episode_id
                begun = (await self.snapshots().fork(taken, 1, label, previous))[0]
            else:
                if options.modality is Modality.SCREENSHOT:
                    await self.window_manager.check_ready(previous)
                begun = await stage.reset(options, previous)
            stage.store.hold(begun, holder)
            charge_episode(begun.id)
            return begun
        except UnknownScenario as unknown:
            raise UnknownScenario(f"{unknown.detail} There are {', '.join(sorted(stage.scenarios))}.") from unknown
        except InvalidReset as misfit:
            if options.chaos in levels():
                raise
            named = ", ".join(f"{level} {profile_for(level).name}" for level in levels())
            raise InvalidReset(f"chaos: the levels are {named}, not {options.chaos}") from misfit
        except GatewayProblem:
            raise
        except Exception as bug:
            _log.exception("a reset failed", extra=options.model_dump(include={"scenario", "seed", "chaos"}))
            raise InternalError from bug

    async def told(self, episode: Episode) -> Observation:
        """Return what an episode answered last, in its modality; raises what `WindowManager.last_observation`
        raises.
        """
        if episode.options.modality is Modality.SCREENSHOT:
            return await self.window_manager.last_observation(episode)
        return episode.told_last()

    async def step(
        self, episode: Episode, tool: str, arguments: dict[str, Any], *, number: int | None = None
    ) -> StepObservation:
        """Carry out an action of an agent, in the modality of its episode.

        Raises what `Stage.step` raises, and where there are windows what `WindowManager.step` does.
        """
        if episode.options.modality is Modality.SCREENSHOT:
            return await self.window_manager.step(episode, tool, arguments, number=number)
        return await self.stage().step(episode, tool, arguments, number=number)

    def loop(self) -> asyncio.AbstractEventLoop:
        """Return the event loop that the house runs on; raises ServicesDown (503) outside its life."""
        if self._loop is None:
            raise ServicesDown("The house is not running.")
        return self._loop

    def call_soon(self, action: Callable[[], None]) -> None:
        """Run an action on the house's loop, from any thread; nothing happens once the house is down."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(action)

    def in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Let work go on beside the requests; the house's end is its end."""
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    def detach(self, episode: Episode, holder: object) -> None:
        """Let an episode outlive its connection for a while."""
        if self._stage is not None:
            self._stage.store.detach(episode, holder)

    def snapshots(self) -> Snapshots:
        """Return the snapshots; raises ServicesDown (503) while the services have not been found."""
        if self._snapshots is None:
            raise ServicesDown("The services have not answered yet.")
        return self._snapshots

    def quarantine(self) -> Quarantine:
        """Return the quarantine; raises ServicesDown (503) while the services have not been found."""
        if self._quarantine is None:
            raise ServicesDown("The services have not answered yet.")
        return self._quarantine

    def runs(self) -> StoredRuns:
        """Return the runs of `companyos eval` that the console shows."""
        if self._runs is None:
            self._runs = StoredRuns(self.settings.runs or DEFAULT_RUNS_DIR)
        return self._runs

    def is_idle(self) -> bool:
        """Say whether no step is being taken."""
        return self._stage is None or (self._stage.is_idle and self.window_manager.is_idle)

    async def readiness(self) -> dict[str, bool]:
        """Return by name whether each service is ready; empty while none is known."""
        return {} if self._cluster is None else await self._cluster.readiness()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Bring the house up, and down again."""
        self._loop = asyncio.get_running_loop()
        descriptors.raise_limit()
        with private_folder() as private:
            data_dir = self.data_dir = self.settings.data_dir or private / "data"
            with held_folder(data_dir / "gateway") as folder:
                async with self._services(private, data_dir) as cluster:
                    self._cluster = cluster
                    opening = asyncio.create_task(self._open(cluster, folder))
                    opening.add_done_callback(_tell_failure)
                    try:
                        await asyncio.wait([opening], timeout=self.settings.start_timeout_s)
                        if opening.done():
                            opening.result()
                        yield
                    finally:
                        await self._shut(opening)
                        await cluster.aclose()
        self._loop = None

    @asynccontextmanager
    async def _services(self, private: Path, data_dir: Path) -> AsyncIterator[Cluster]:
        addresses = self.settings.addresses()
        if self._cluster is not None:
            yield self._cluster
        elif addresses:
            yield Cluster.at(addresses, self.settings.key(), self.watch.traces)
        else:
            async with EmbeddedServices(private, data_dir) as embedded:
                yield Cluster.at(embedded.addresses, embedded.key, self.watch.traces)

    async def _open(self, cluster: Cluster, folder: Path) -> None:
        """Discover the tools as soon as every service answers, find the episodes again, then look after them."""
        documents = await discover(cluster)
        secret = read_or_make_secret(folder)
        await cluster.lease(owner_of(secret), take_over=self.settings.take_over)
        toolbox = build_toolbox(documents, _finish_schema())
        settings = self.settings
        scenarios = await asyncio.to_thread(_checked_scenarios) if self._scenarios is None else self._scenarios
        files, snapshot_files = EpisodeFiles(folder), SnapshotFiles(folder)
        quarantine = Quarantine(folder, cluster, files, snapshot_files)
        self.watch.finished = FinishedEpisodes(folder / "finished", max_count=settings.max_finished)
        store = ArchivingStore(
            cluster,
            files,
            EpisodeTokens(secret),
            node=settings.node,
            limits=EpisodeLimits(
                most_episodes=settings.max_episodes,
                idle_s=settings.idle_limit_s,
                detached_s=settings.detached_limit_s,
                lifetime_s=settings.lifetime_limit_s,
            ),
            keep_databases=settings.keep_episodes,
            kept_episode=settings.keep_episode,
            quarantine=quarantine,
            watch=self.watch,
        )
        shelf = TaskShelf(scenarios, cluster, most_kept=settings.max_tasks_kept)
        stage = Stage(cluster, toolbox, shelf, store, self.watch)
        given = (cluster, snapshot_files, files, quarantine, shelf, store)
        snapshots = Snapshots(*given, most_kept=settings.max_snapshots, watch=self.watch)
        quarantine.has_label = store.has
        found = await Recovery(stage, files, snapshots, quarantine).run()
        if settings.keep_episode is not None and not store.has(settings.keep_episode):
            try:
                await stage.reset(ResetOptions(episode_id=settings.keep_episode))
            except EpisodeQuarantinedError as quarantined:
                _log.error("the kept episode is not replaced: %s", quarantined.detail)
        self._stage, self._snapshots, self._quarantine = stage, snapshots, quarantine
        self._reaping = asyncio.create_task(store.reap_forever())
        _log.info("%d tools of %d services, %d episodes found again", len(toolbox), len(documents), found)

    async def _shut(self, opening: asyncio.Task[None]) -> None:
        for task in filter(None, (opening, self._reaping, *self._background)):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await self.window_manager.aclose()
        if self._stage is not None:
            with suppress(TimeoutError, GatewayProblem):
                async with asyncio.timeout(LETTING_GO_S):
                    await self._stage.store.aclose(lasting=self.settings.data_dir is not None)
                    if self.settings.data_dir is None:
                        await self.snapshots().delete_all()
        self._stage = self._snapshots = self._quarantine = None
        if self.watch.traces.on:
            await asyncio.to_thread(self.watch.traces.close)


def _checked_scenarios() -> Mapping[str, Scenario]:
    check_catalogue()
    return catalogue()


def _tell_failure(opening: asyncio.Task[None]) -> None:
    """Say at once why a house will never be ready: whoever waited for it may have gone on."""
    if not opening.cancelled() and (error := opening.exception()) is not None:
        _log.critical("the house cannot be opened: %s", error)


def _finish_schema() -> dict[str, Any]:
    shape = FinishDeclaration.model_json_schema()
    return {word: value for word, value in published(shape, shape).items() if word != "description"}
