"""Pages of metrics: a catalogue, and a metric with its history, refreshes and other sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from fastapi.responses import HTMLResponse

from companyos_datahub.metrics import service
from companyos_datahub.metrics.schemas import EarlierValue, MetricRow
from companyos_datahub.pages.app import PAGES, place_of, readings_of, sources_of, vendor_names
from companyos_datahub.refreshes.service import list_refresh_jobs
from companyos_shared.framework import (
    ALL_ROWS,
    PageCursor,
    PageParams,
    PageText,
    PageView,
    Searchable,
    page_params,
    paginate_sequence,
    search,
)

CHARTED = 60
"""Maximum number of earlier values in the chart."""


@PAGES.page("/")
def show_catalogue(
    view: PageView,
    q: PageText = "",
    key: PageText = "",
    subject: PageText = "",
    source_id: PageText = "",
    cursor: PageCursor = None,
) -> HTMLResponse:
    """Show the metrics that match all filters and contain any of the words."""
    call = view.call
    shown = {"key": key, "subject": subject.strip(), "source_id": source_id}
    filters = {name: value or None for name, value in shown.items()}
    every = service.list_metrics(call, ALL_ROWS, key=None, subject=None, source_id=None).items
    fitting = service.list_metrics(call, ALL_ROWS, **filters).items if any(filters.values()) else every
    fitting = search(fitting, q.strip() or None, _searchable)
    found = paginate_sequence(fitting, page_params(cursor), build=lambda row: row)
    return view.page(
        "catalogue.html",
        found=found,
        readings=readings_of(call, found.items),
        origins=sources_of(call, found.items),
        subjects=vendor_names(call, (row.subject for row in found.items)),
        q=q.strip(),
        filters=shown,
        cursor=cursor,
        keys=sorted({row.key for row in every}),
        sources=[(one.id, f"{one.name}, {one.id}") for one in sources_of(call, every).values()],
    )


@PAGES.page("/metrics/{metric_id}")
def show_metric(view: PageView, metric_id: str, cursor: PageCursor = None) -> HTMLResponse:
    """Show a metric."""
    call = view.call
    metric = service.load_metric(call, metric_id)
    readings = service.query_metric(call, key=metric.key, subject=metric.subject, source_id=None).readings
    charted = service.get_metric_history(call, metric_id, PageParams(CHARTED, None)).items
    history = service.get_metric_history(call, metric_id, page_params(cursor))
    view.shows_values(history.items, metric_id=metric_id)
    return view.page(
        "metric.html",
        metric=metric,
        readings=readings,
        own=next(reading for reading in readings if reading.metric_id == metric_id),
        origins=sources_of(call, readings),
        subjects=vendor_names(call, [metric.subject]),
        subject_place=place_of(call, metric.subject),
        chart=chart_of([*charted, EarlierValue(value=metric.value, as_of=metric.as_of)]),
        history=history,
        jobs=list_refresh_jobs(call, page_params(None), metric_id=metric_id),
        cursor=cursor,
    )


def _searchable(row: MetricRow) -> Searchable:
    return Searchable(row.id, row.title, f"{row.key} {row.subject} {row.source_id}")


WIDTH, HEIGHT = 640, 250
SIDE, TOP, BOTTOM = 12, 32, 66
MIN_POINTS = 2


@dataclass(frozen=True, slots=True)
class Point:
    """A value and its position in the drawing."""

    x: float
    y: float
    value: float
    as_of: datetime


@dataclass(frozen=True, slots=True)
class Chart:
    """Values over time, oldest first."""

    points: tuple[Point, ...]

    width = WIDTH
    height = HEIGHT
    side = SIDE
    floor = HEIGHT - BOTTOM

    @property
    def line(self) -> str:
        """The points of an SVG polyline."""
        return " ".join(f"{point.x},{point.y}" for point in self.points)

    @property
    def first(self) -> Point:
        """The oldest value."""
        return self.points[0]

    @property
    def last(self) -> Point:
        """The newest value."""
        return self.points[-1]

    @property
    def lowest(self) -> Point:
        """The lowest value; the newest one if several are equal."""
        return min(reversed(self.points), key=lambda point: point.value)

    @property
    def highest(self) -> Point:
        """The highest value; the newest one if several are equal."""
        return max(reversed(self.points), key=lambda point: point.value)


def chart_of(values: Sequence[EarlierValue]) -> Chart | None:
    """Return the chart of values in any order, or None for fewer than two values."""
    if len(values) < MIN_POINTS:
        return None
    ordered = sorted(values, key=lambda value: value.as_of)
    start, span = ordered[0].as_of, ordered[-1].as_of - ordered[0].as_of
    lowest = min(value.value for value in ordered)
    height = max(value.value for value in ordered) - lowest
    return Chart(
        tuple(
            Point(
                x=_across((value.as_of - start) / span if span > timedelta(0) else 0.5),
                y=_up((value.value - lowest) / height if height > 0 else 0.5),
                value=value.value,
                as_of=value.as_of,
            )
            for value in ordered
        )
    )


def _across(share: float) -> float:
    return round(SIDE + share * (WIDTH - 2 * SIDE), 1)


def _up(share: float) -> float:
    return round(HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP), 1)
