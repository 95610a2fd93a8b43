"""The metrics of all workers as one page for Prometheus, with the label `worker`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prometheus_client import generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector, CollectorRegistry

from companyos_gateway.workers.pool import Worker

_LABEL = "worker"


def merge_metrics(pages: Mapping[int, str | None], workers: Iterable[Worker]) -> bytes:
    """Merge the pages of the workers, given by number; None for a worker that did not respond."""
    registry = CollectorRegistry()
    registry.register(_Collected(_with_label(pages), _own_metrics(pages, workers)))
    return generate_latest(registry)


class _Collected(Collector):
    def __init__(self, *groups: Iterable[Metric]) -> None:
        self._metrics = [metric for group in groups for metric in group]

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def _with_label(pages: Mapping[int, str | None]) -> list[Metric]:
    merged: dict[str, Metric] = {}
    for number, page in pages.items():
        for family in text_string_to_metric_families(page or ""):
            target = merged.setdefault(family.name, Metric(family.name, family.documentation, family.type))
            for sample in family.samples:
                target.add_sample(sample.name, {**sample.labels, _LABEL: str(number)}, sample.value)
    return list(merged.values())


def _own_metrics(pages: Mapping[int, str | None], workers: Iterable[Worker]) -> Iterable[Metric]:
    answers = GaugeMetricFamily("companyos_worker_up", "1 if the worker answers.", labels=[_LABEL])
    restarts = GaugeMetricFamily("companyos_worker_restarts", "Restarts of the worker.", labels=[_LABEL])
    sockets = GaugeMetricFamily("companyos_worker_websockets", "WebSockets relayed to the worker.", labels=[_LABEL])
    for worker in workers:
        label = [str(worker.number)]
        answers.add_metric(label, int(pages.get(worker.number) is not None))
        restarts.add_metric(label, worker.backoff.restarts)
        sockets.add_metric(label, worker.websockets)
    return [answers, restarts, sockets]
