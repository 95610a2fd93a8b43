"""The gateway's runtime: connects the services, discovers their tools, recovers episodes and shuts down."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from openenv.core.env_server.types import Observation

from companyos.contract import SHIFT_PREFIX, SHIFT_SIZES, CompanySize, Modality, ResetOptions
from companyos.signed_evidence import EvidenceSigner
from companyos_gateway.browser.window_manager import WindowManager
from companyos_gateway.engine.concurrency import start_task
from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.episode_files import EpisodeFiles
from companyos_gateway.engine.errors import (
    EpisodeQuarantinedError,
    GatewayError,
    InternalError,
    ServicesUnavailableError,
    UnknownScenarioError,
)
from companyos_gateway.engine.json_schemas import to_public_schema
from companyos_gateway.engine.leases import derive_owner
from companyos_gateway.engine.observations import StepObservation
from companyos_gateway.engine.quarantine import Quarantine
from companyos_gateway.engine.recovery import Recovery
from companyos_gateway.engine.service_clients import ServiceClients
from companyos_gateway.engine.snapshot_files import SnapshotFiles
from companyos_gateway.engine.snapshots import Snapshots
from companyos_gateway.engine.store import EpisodeLimits
from companyos_gateway.engine.task_cache import TaskCache
from companyos_gateway.engine.tokens import EpisodeTokens, read_or_create_secret
from companyos_gateway.engine.toolbox import build_toolbox
from companyos_gateway.evaluation import FinishDeclaration
from companyos_gateway.middleware.browser_sessions import BrowserSessions, SessionFolder
from companyos_gateway.middleware.fair_share import charge_episode
from companyos_gateway.process.data_folder import GatewayFolders, open_folders
from companyos_gateway.process.embedded_services import EmbeddedServices
from companyos_gateway.scenarios import Scenario, catalogue
from companyos_gateway.scenarios.validation import check_catalogue
from companyos_gateway.services import check_services
from companyos_gateway.settings import Settings
from companyos_gateway.viewer.archive import ArchivingStore
from companyos_gateway.viewer.finished_episodes import FinishedEpisodes
from companyos_gateway.viewer.recorder import ViewerRecorder
from companyos_gateway.viewer.stored_runs import DEFAULT_RUNS_DIR, StoredRuns
from companyos_shared import file_descriptors
from companyos_shared.telemetry.trace_export import create_traces

RELEASE_TIMEOUT_S = 1.5
"""Seconds that a shutdown waits for services to drop episodes. Those left over are dropped after the next start."""

_log = logging.getLogger(__name__)


class GatewayRuntime:
    """The state of one gateway process: services, engine, stores and background tasks.

    Pass `folders` and `embedded` if they are already open and started; otherwise they are created from the settings.
    Only tests pass `service_clients` and `scenarios`.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        folders: GatewayFolders | None = None,
        embedded: EmbeddedServices | None = None,
        service_clients: ServiceClients | None = None,
        scenarios: Mapping[str, Scenario] | None = None,
    ) -> None:
        self.settings = settings
        self._folders = folders
        self._embedded = embedded
        self.metrics = ViewerRecorder(create_traces("gateway"))
        self._runs: StoredRuns | None = None
        self.window_manager = WindowManager(self)
        self.sessions = BrowserSessions(None if settings.session_dir is None else SessionFolder(settings.session_dir))
        self._service_clients = service_clients
        self._scenarios = scenarios
        self._engine: EpisodeEngine | None = None
        self._snapshots: Snapshots | None = None
        self._quarantine: Quarantine | None = None
        self._evidence_signer: EvidenceSigner | None = None
        self._reaper: asyncio.Task[None] | None = None
        self._background: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.data_dir: Path | None = None

    def engine(self) -> EpisodeEngine:
        """Return the episode engine; raises ServicesUnavailableError (503) until the runtime has started."""
        if self._engine is None:
            raise ServicesUnavailableError("The services have not answered yet.")
        return self._engine

    async def reset(
        self, options: ResetOptions, previous: Episode | None = None, holder: object | None = None
    ) -> Episode:
        """Start an episode, fork a snapshot or resume a live episode for the connection `holder`.

        A started or forked episode replaces `previous`, which is unchanged after an error. Raises a GatewayError.
        """
        engine = self.engine()
        try:
            if options.resume is not None:
                with self.metrics.measure_operation("resume"):
                    resumed = await engine.resume(options.resume, holder)
                charge_episode(resumed.id)
                return resumed
            if options.injected_state is not None:
                taken, label = options.injected_state.snapshot, options.episode_id
                begun = (await self.snapshots().fork(taken, 1, label, previous))[0]
            else:
                if options.modality is Modality.SCREENSHOT:
                    await self.window_manager.check_ready(previous)
                begun = await engine.reset(options, previous)
            engine.store.hold(begun, holder)
            charge_episode(begun.id)
            return begun
        except UnknownScenarioError as error:
            available = ", ".join([*sorted(engine.scenarios), *(f"{SHIFT_PREFIX}{size}" for size in SHIFT_SIZES)])
            sizes = " or ".join(f"-{size}" for size in CompanySize if size is not CompanySize.SMALL)
            names = f"{available}; append {sizes} for a larger company"
            raise UnknownScenarioError(f"{error.detail} Available scenarios: {names}.") from error
        except GatewayError:
            raise
        except Exception as error:
            _log.exception("a reset failed", extra=options.model_dump(include={"scenario", "seed", "chaos"}))
            raise InternalError from error

    async def last_observation(self, episode: Episode) -> Observation:
        """Return the last observation of an episode in its modality.

        Raises the errors of `WindowManager.last_observation`.
        """
        if episode.options.modality is Modality.SCREENSHOT:
            return await self.window_manager.last_observation(episode)
        return episode.last_observation()

    async def step(
        self, episode: Episode, tool: str, arguments: dict[str, Any], *, number: int | None = None
    ) -> StepObservation:
        """Perform an action of an agent in the modality of its episode.

        Raises the errors of `EpisodeEngine.step`, or for screenshot episodes those of `WindowManager.step`.
        """
        if episode.options.modality is Modality.SCREENSHOT:
            return await self.window_manager.step(episode, tool, arguments, number=number)
        return await self.engine().step(episode, tool, arguments, number=number)

    def loop(self) -> asyncio.AbstractEventLoop:
        """Return the runtime's event loop; raises ServicesUnavailableError (503) while it is not running."""
        if self._loop is None:
            raise ServicesUnavailableError("The gateway is not running.")
        return self._loop

    def call_soon(self, action: Callable[[], None]) -> None:
        """Schedule an action on the runtime's loop from any thread; a no-op once the runtime has stopped."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(action)

    def run_in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a background task that is cancelled when the runtime stops."""
        return start_task(self._background, work)

    def detach(self, episode: Episode, holder: object) -> None:
        """Detach an episode from its connection, which it outlives by at most `detached_limit_s`."""
        if self._engine is not None:
            self._engine.store.detach(episode, holder)

    def snapshots(self) -> Snapshots:
        """Return the snapshots; raises ServicesUnavailableError (503) until the runtime has started."""
        if self._snapshots is None:
            raise ServicesUnavailableError("The services have not answered yet.")
        return self._snapshots

    def quarantine(self) -> Quarantine:
        """Return the quarantine; raises ServicesUnavailableError (503) until the runtime has started."""
        if self._quarantine is None:
            raise ServicesUnavailableError("The services have not answered yet.")
        return self._quarantine

    def evidence_signer(self) -> EvidenceSigner:
        """Return the signer of evidence; raises ServicesUnavailableError (503) until the services have responded.

        Its key is derived from the secret in the gateway's folder, so it is the same after a restart with this folder.
        """
        if self._evidence_signer is None:
            raise ServicesUnavailableError("The services have not answered yet.")
        return self._evidence_signer

    def runs(self) -> StoredRuns:
        """Return the runs of `companyos eval` that the console shows."""
        if self._runs is None:
            self._runs = StoredRuns(self.settings.runs or DEFAULT_RUNS_DIR)
        return self._runs

    def is_idle(self) -> bool:
        """Return whether no step is in progress."""
        return self._engine is None or (self._engine.is_idle and self.window_manager.is_idle)

    async def readiness(self) -> dict[str, bool]:
        """Return whether each service is ready, by name; empty until the services are known."""
        return {} if self._service_clients is None else await self._service_clients.readiness()

    def restarts(self) -> dict[str, Any]:
        """Return the restarts and the current delay of each embedded process that has ended, by name."""
        return {} if self._embedded is None else self._embedded.restarts()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Start the runtime, and stop it on exit."""
        self._loop = asyncio.get_running_loop()
        file_descriptors.raise_limit()
        with nullcontext(self._folders) if self._folders else open_folders(self.settings.data_dir) as folders:
            self.data_dir = folders.data
            async with self._services(folders) as service_clients:
                self._service_clients = service_clients
                starting = asyncio.create_task(self._start(service_clients, folders.gateway))
                starting.add_done_callback(_log_start_failure)
                try:
                    await self._wait_for_start(starting)
                    yield
                finally:
                    await self._stop(starting)
                    await service_clients.aclose()
                if not starting.cancelled():
                    starting.result()  # raises the error of a start that failed after `start_timeout_s`
        self._loop = None

    @asynccontextmanager
    async def _services(self, folders: GatewayFolders) -> AsyncIterator[ServiceClients]:
        addresses = self.settings.addresses()
        if self._service_clients is not None:
            yield self._service_clients
        elif addresses:
            yield ServiceClients.from_addresses(addresses, self.settings.key(), self.metrics.traces)
        else:
            self._embedded = self._embedded or EmbeddedServices(folders.private, folders.data)
            async with self._embedded as embedded:
                yield ServiceClients.from_addresses(embedded.addresses, embedded.key, self.metrics.traces)

    async def _wait_for_start(self, starting: asyncio.Task[None]) -> None:
        """Wait until the runtime has started, at most `start_timeout_s`; raises the error of a failed start."""
        awaited: set[asyncio.Task[Any]] = {starting}
        if self._embedded is not None:
            loading = asyncio.create_task(self._embedded.wait_for_load_error())
            loading.add_done_callback(_log_start_failure)
            awaited.add(loading)
        done, pending = await asyncio.wait(
            awaited, timeout=self.settings.start_timeout_s, return_when=asyncio.FIRST_COMPLETED
        )
        for task in pending - {starting}:
            task.cancel()
        for task in done:
            task.result()

    async def _start(self, service_clients: ServiceClients, folder: Path) -> None:
        """Discover the tools as soon as every service responds, recover the episodes, then start the reaper."""
        service_clients.set_step_timeout(self.settings.step_timeout_s)
        check_services(service_clients.clients)
        documents = await discover(service_clients)
        secret = read_or_create_secret(folder)
        self._evidence_signer = EvidenceSigner(secret)
        await service_clients.lease(derive_owner(secret), take_over=self.settings.take_over)
        toolbox = build_toolbox(documents, _finish_schema())
        settings = self.settings
        scenarios = await asyncio.to_thread(_load_scenarios) if self._scenarios is None else self._scenarios
        files, snapshot_files = EpisodeFiles(folder), SnapshotFiles(folder)
        quarantine = Quarantine(folder, service_clients, files, snapshot_files)
        self.metrics.finished = FinishedEpisodes(folder / "finished", max_count=settings.max_finished)
        store = ArchivingStore(
            service_clients,
            files,
            EpisodeTokens(secret),
            node=settings.node,
            limits=EpisodeLimits(
                max_episodes=settings.max_episodes,
                idle_s=settings.idle_limit_s,
                detached_s=settings.detached_limit_s,
                lifetime_s=settings.lifetime_limit_s,
            ),
            keep_databases=settings.keep_episodes,
            kept_episode=settings.keep_episode,
            quarantine=quarantine,
            metrics=self.metrics,
        )
        task_cache = TaskCache(scenarios, service_clients, max_size=settings.task_cache_size)
        engine = EpisodeEngine(service_clients, toolbox, task_cache, store, self.metrics)
        stores = (service_clients, snapshot_files, files, quarantine, task_cache, store)
        snapshots = Snapshots(*stores, max_snapshots=settings.max_snapshots, metrics=self.metrics)
        quarantine.has_label = store.has
        found = await Recovery(engine, files, snapshots, quarantine).run()
        if settings.keep_episode is not None and not store.has(settings.keep_episode):
            try:
                await engine.reset(ResetOptions(episode_id=settings.keep_episode))
            except EpisodeQuarantinedError as error:
                _log.error("the kept episode is not replaced: %s", error.detail)
        self._engine, self._snapshots, self._quarantine = engine, snapshots, quarantine
        self._reaper = asyncio.create_task(store.reap_forever())
        _log.info("%d tools of %d services, %d episodes found again", len(toolbox), len(documents), found)

    async def _stop(self, starting: asyncio.Task[None]) -> None:
        tasks = [task for task in (starting, self._reaper, *self._background) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.window_manager.aclose()
        if self._engine is not None:
            await self._engine.prefetcher.aclose()
            with suppress(TimeoutError, GatewayError):
                async with asyncio.timeout(RELEASE_TIMEOUT_S):
                    await self._engine.store.aclose(keep_files=self.settings.data_dir is not None)
                    if self.settings.data_dir is None:
                        await self.snapshots().delete_all()
        self._engine = self._snapshots = self._quarantine = None
        if self.metrics.traces.enabled:
            await asyncio.to_thread(self.metrics.traces.close)


def _load_scenarios() -> Mapping[str, Scenario]:
    check_catalogue()
    return catalogue()


def _log_start_failure(starting: asyncio.Task[None]) -> None:
    """Log the error of a failed start, even if nothing waits for it any more."""
    if not starting.cancelled() and (error := starting.exception()) is not None:
        _log.critical("the gateway cannot start: %s", error)


def _finish_schema() -> dict[str, Any]:
    shape = FinishDeclaration.model_json_schema()
    return {word: value for word, value in to_public_schema(shape, shape).items() if word != "description"}


FIRST_RETRY_S = 0.02
SLOWEST_RETRY_S = 0.25


async def discover(service_clients: ServiceClients) -> dict[str, dict[str, Any]]:
    """Return the OpenAPI document of each service by name, as soon as all of them respond."""
    pause_s = FIRST_RETRY_S
    while True:
        try:
            return await service_clients.openapi()
        except ServicesUnavailableError as waiting:
            _log.debug("%s", waiting)
            await asyncio.sleep(pause_s)
            pause_s = min(1.1 * pause_s, SLOWEST_RETRY_S)
