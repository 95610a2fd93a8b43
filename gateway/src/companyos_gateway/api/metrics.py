"""`GET /metrics` for Prometheus. Values are collected per request, so that steps have no overhead."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from companyos_gateway.api.openenv_server import LimitedOpenEnvServer
from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.engine.episode import VERSION
from companyos_gateway.engine.episode_files import is_internal_id
from companyos_gateway.engine.errors import ServicesUnavailableError
from companyos_gateway.engine.metrics import EngineMetrics
from companyos_gateway.engine.service_client import ServiceClient
from companyos_gateway.engine.store import EpisodeStore
from companyos_gateway.middleware.drain import DrainState
from companyos_gateway.runtime import GatewayRuntime
from companyos_shared.telemetry.histogram import LatencyHistogram
from companyos_shared.web.lazy_routes import LazyRouter

_EPISODES = "episodes"
_GATEWAY = "gateway"


def metrics_router(runtime: GatewayRuntime, server: LimitedOpenEnvServer, drain: DrainState) -> LazyRouter:
    """Return the metrics route, with a registry of its own."""
    router = LazyRouter(tags=["Health"])
    registry = CollectorRegistry()
    registry.register(RuntimeCollector(runtime, server, drain))
    ProcessCollector(registry=registry)

    @router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    async def metrics() -> Response:
        """Get the metrics in the text format of Prometheus."""
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    return router


class RuntimeCollector(Collector):
    """Collector that reads the metrics of a gateway at scrape time."""

    def __init__(self, runtime: GatewayRuntime, server: LimitedOpenEnvServer, drain: DrainState) -> None:
        self._runtime = runtime
        self._server = server
        self._drain = drain

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics. Those of episodes require a running engine."""
        runtime, server = self._runtime, self._server
        yield InfoMetricFamily(
            "companyos_gateway", "Version and node of the gateway.", {"version": VERSION, "node": runtime.settings.node}
        )
        yield _gauge("slots_used", "Slots in use by connections and sessions.", server.slots_used())
        yield _gauge("slots_limit", "Maximum number of slots.", server.slots_limit())
        yield _gauge("sockets_open", "Open WebSockets.", len(self._drain.sockets))
        yield _gauge("requests_in_flight", "Requests and messages in flight.", self._drain.in_flight)
        yield _gauge("draining", "1 while the gateway shuts down.", int(self._drain.is_draining))
        yield from _recorded(runtime.metrics)
        try:
            engine = runtime.engine()
        except ServicesUnavailableError:
            return
        yield from _services(engine.service_clients.clients)
        yield from _episodes(engine.store)
        yield _gauge("snapshots", "Stored snapshots.", len(runtime.snapshots()))
        yield _gauge("windows_open", "Open browser windows.", runtime.window_manager.open_count)
        starts = runtime.window_manager.starts
        yield CounterMetricFamily("companyos_browser_starts", "Browser starts.", starts)
        yield from self._leaks(engine)

    def _leaks(self, engine: EpisodeEngine) -> Iterator[Metric]:
        """Yield the episode folders and the leaked resources."""
        server, store = self._server, engine.store
        folders = _folders(self._runtime.data_dir, engine)
        folder_counts = GaugeMetricFamily("companyos_episode_folders", "Episode folders on disk.", labels=["process"])
        leaked = GaugeMetricFamily(
            "companyos_leaked_resources",
            "Resources without an owner, by type; 0 if nothing leaks.",
            labels=["type"],
        )
        for process, count in folders.items():
            folder_counts.add_metric([process], count)
            if not self._runtime.settings.keep_episodes:
                leaked.add_metric([f"{process}_folders"], max(0, count - len(store) - len(store.remover)))
        sessions = server.get_capacity_status().active_sessions
        leaked.add_metric(["sessions"], max(0, sessions - server.slots_used()))
        leaked.add_metric(["sockets"], max(0, len(self._drain.sockets) - len(server.sockets)))
        held = sum(episode.holder is not None for episode in store)
        leaked.add_metric(["held_episodes"], max(0, held - server.slots_used()))
        yield folder_counts
        yield leaked


def _recorded(metrics: EngineMetrics) -> Iterator[Metric]:
    yield _counter("steps", "Steps, by outcome.", "outcome", metrics.steps)
    yield _counter("planned_faults", "Injected faults, by kind.", "kind", metrics.planned_faults)
    operations = CounterMetricFamily(
        "companyos_operations", "Resets, snapshots and similar operations, by result.", labels=["operation", "result"]
    )
    for (operation, result), count in metrics.control.items():
        operations.add_metric([operation, result], count)
    yield operations
    yield _histogram("step_seconds", "Duration of steps in seconds.", "", {"": metrics.step_latency})
    yield _histogram("operation_seconds", "Duration of operations in seconds.", "operation", metrics.control_latency)


def _services(clients: Mapping[str, ServiceClient]) -> Iterator[Metric]:
    resends = {name: client.resends for name, client in clients.items()}
    faults = {name: client.faults for name, client in clients.items()}
    latencies = {name: client.latency for name, client in clients.items()}
    yield _counter("service_resends", "Service calls that were resent.", "service", resends)
    yield _counter("service_faults", "Service calls that failed without an injected fault.", "service", faults)
    yield _histogram(
        "service_call_seconds", "Duration of service calls in seconds, including resends.", "service", latencies
    )


def _episodes(store: EpisodeStore) -> Iterator[Metric]:
    yield _gauge("episodes_live", "Live episodes.", len(store))
    detached = sum(episode.detached_at is not None for episode in store)
    yield _gauge("episodes_detached", "Live episodes without a connection.", detached)
    yield _gauge("episodes_being_freed", "Episodes that are being removed from the services.", len(store.remover))
    ended = {outcome.value: count for outcome, count in store.outcomes.items()}
    yield _counter("episodes_ended", "Finished episodes, by outcome.", "outcome", ended)


def _folders(data_dir: Path | None, engine: EpisodeEngine) -> dict[str, int]:
    """Return the number of episode folders of each process whose part of the data folder exists on this machine."""
    if data_dir is None:
        return {}
    folders = {name: data_dir / name / _EPISODES for name in (_GATEWAY, *engine.service_clients.clients)}
    return {name: sum(map(is_internal_id, os.listdir(folder))) for name, folder in folders.items() if folder.is_dir()}


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"companyos_{name}", text, value)


def _counter(name: str, text: str, label: str, counts: Mapping[str, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(f"companyos_{name}", text, labels=[label])
    for value, count in counts.items():
        family.add_metric([value], count)
    return family


def _histogram(name: str, text: str, label: str, latencies: dict[str, LatencyHistogram]) -> HistogramMetricFamily:
    family = HistogramMetricFamily(f"companyos_{name}", text, labels=[label] if label else None)
    for value, latency in latencies.items():
        family.add_metric([value] if label else [], latency.buckets(), latency.total_s)
    return family
