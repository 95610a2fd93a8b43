"""Prometheus metrics of a service at `GET /-/metrics`, computed on each request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from companyos_shared.framework.episodes import Episodes
from companyos_shared.web.lazy_routes import LazyRouter

_COUNTED_FOLDERS = ("episodes", "templates", "snapshots")


def metrics_router(episodes: Episodes) -> LazyRouter:
    """Return the metrics route with its own registry."""
    router = LazyRouter(include_in_schema=False)
    registry = CollectorRegistry()
    registry.register(_EpisodesCollector(episodes))
    ProcessCollector(registry=registry)

    @router.get("/-/metrics")
    def metrics() -> Response:
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    return router


class _EpisodesCollector(Collector):
    def __init__(self, episodes: Episodes) -> None:
        self._episodes = episodes

    def collect(self) -> Iterator[Metric]:
        service, storage = self._episodes.service, self._episodes.storage
        yield InfoMetricFamily(
            "companyos_service", "Name and version of the service.", {"name": service.name, "version": service.version}
        )
        yield GaugeMetricFamily("companyos_service_databases_open", "Open epoch databases.", self._episodes.open_count)
        stored = GaugeMetricFamily(
            "companyos_service_stored_items", "Items in the data folder, by kind.", labels=["kind"]
        )
        for kind in _COUNTED_FOLDERS:
            stored.add_metric([kind], _count(storage.folder / kind))
        yield stored
        free_bytes = storage.free_bytes()
        if free_bytes is not None:
            yield GaugeMetricFamily("companyos_service_free_bytes", "Free bytes of the data folder.", free_bytes)


def _count(folder: Path) -> int:
    return sum(1 for _ in folder.iterdir()) if folder.is_dir() else 0
