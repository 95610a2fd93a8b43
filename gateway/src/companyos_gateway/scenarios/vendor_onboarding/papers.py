"""The papers of an onboarding: the vendor, its contract and what DataHub measures of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.vendor_onboarding.case import METRIC_KEY, Score
from companyos_gateway.world.documents.datahub import (
    MetricRow,
    RecordRow,
    RefreshPlanRow,
    SourceRow,
    VendorRow,
)
from companyos_gateway.world.draft import World
from companyos_gateway.world.metrics import draw_metric, source_of
from companyos_gateway.world.records import draw_contract, rounded_amount
from companyos_gateway.world.vendors import draw_certificates, draw_namesake, draw_vendor
from companyos_shared.streams import Stream

AMOUNTS = (8_000_000, 60_000_000)
"""Amounts of contracts in cents; they leave room for three limits of the policy below them."""

HIGHEST_SCORE, LOWEST_SCORE = 98, 40
UNIT = "points"
REFRESH_MINUTES = (15, 90)
PIPELINE_ERRORS = (
    "The upstream feed closed the connection.",
    "A mandatory column was empty in the delivery.",
    "The load ran into its time limit.",
)


@dataclass(frozen=True)
class Papers:
    """The vendor with its contract."""

    vendor: VendorRow
    contract: RecordRow
    amount_cents: int
    twin: VendorRow | None = None
    """Another vendor of nearly the same name."""


def add_papers(world: World, stream: Stream, kinds: Collection[Kind]) -> Papers:
    """Add the vendor and its contract, and a vendor of a similar name with one of its own where that strikes."""
    vendor = draw_vendor(world, stream)
    vendor.status = "prospect"
    vendor.risk_tier = stream.weighted([("low", 4), ("medium", 4), ("high", 3)])
    draw_certificates(world, stream, vendor, expired=Kind.EXPIRED_CERTIFICATE in kinds)
    amount_cents = rounded_amount(stream, *AMOUNTS)
    contract = draw_contract(world, stream, vendor, amount_cents=amount_cents, state="draft")
    if Kind.SIMILAR_NAMES not in kinds:
        return Papers(vendor, contract, amount_cents)
    twin = draw_namesake(world, stream, vendor)
    draw_certificates(world, stream, twin)
    draw_contract(world, stream, twin, state="active")
    return Papers(vendor, contract, amount_cents, twin)


@dataclass(frozen=True)
class _Sources:
    """The authority on compliance scores, and others that have an opinion."""

    authority: SourceRow
    rivals: tuple[SourceRow, ...]


def _choose_sources(world: World, stream: Stream) -> _Sources:
    """Draw which source is the authority on compliance scores, and put every score there."""
    assurance, risk, delivery = (source_of(world, key) for key in (METRIC_KEY, "risk_index", "delivery_score"))
    if stream.chance(0.6):
        return _Sources(assurance, (risk, delivery))
    assurance.authoritative_for.remove(METRIC_KEY)
    risk.authoritative_for.append(METRIC_KEY)
    for metric in world.hub.metrics:
        if metric.key == METRIC_KEY:
            metric.source_id = risk.id
    return _Sources(risk, (assurance, delivery))


def add_score(
    world: World,
    stream: Stream,
    papers: Papers,
    minimum: int,
    *,
    must_refuse: bool,
    kinds: Collection[Kind],
) -> Score:
    """Add the vendor's score: stale or fresh, with what its refreshes will bring, and what others say."""
    sources = _choose_sources(world, stream)
    authority = sources.authority
    is_stale = Kind.STALE_METRIC in kinds
    value = stream.integer(LOWEST_SCORE, minimum - 1) if must_refuse else stream.integer(minimum, HIGHEST_SCORE)
    first = _stale_value(stream, value, minimum, must_refuse=must_refuse) if is_stale else value
    as_of = _age(world, stream, authority, is_stale=is_stale)
    metric = _add_metric(world, stream, papers.vendor, authority, value=first, as_of=as_of)
    failing = stream.integer(1, 2) if Kind.FAILED_PIPELINE in kinds else 0
    minutes = _plan_refreshes(world, stream, metric, value=value, failing=failing)
    if failing:
        authority.pipeline_state = "failed"
    others = []
    if Kind.CONFLICTING_SOURCES in kinds:
        rival = stream.choice(sources.rivals)
        others.append(_add_rival(world, stream, papers.vendor, rival, value=value, minimum=minimum))
    if papers.twin is not None:
        recent = _age(world, stream, authority, is_stale=False)
        _add_metric(world, stream, papers.twin, authority, value=_other_value(stream, value), as_of=recent)
    return Score(
        metric_id=metric.id,
        source_id=authority.id,
        other_metric_ids=tuple(other.id for other in others),
        max_age=timedelta(minutes=authority.freshness_sla_minutes),
        is_stale=is_stale,
        value=float(value),
        failing_refreshes=failing,
        refresh_minutes=minutes,
    )


def _stale_value(stream: Stream, value: int, minimum: int, *, must_refuse: bool) -> int:
    """Draw an old value that differs: above the bar where the fresh one falls below it, else on either side."""
    low = minimum if must_refuse else LOWEST_SCORE
    old = stream.integer(low, HIGHEST_SCORE - 1)
    return old if old < value else old + 1


def _other_value(stream: Stream, value: int) -> int:
    other = stream.integer(LOWEST_SCORE, HIGHEST_SCORE - 1)
    return other if other < value else other + 1


def _age(world: World, stream: Stream, source: SourceRow, *, is_stale: bool) -> datetime:
    promised = source.freshness_sla_minutes
    minutes = stream.integer(promised + promised // 2, promised * 8) if is_stale else stream.integer(5, promised // 6)
    return world.started_at - timedelta(minutes=minutes)


def _add_metric(
    world: World, stream: Stream, vendor: VendorRow, source: SourceRow, *, value: int, as_of: datetime
) -> MetricRow:
    title = f"Compliance score of {vendor.legal_name}"
    return draw_metric(
        world,
        stream,
        key=METRIC_KEY,
        subject=vendor.id,
        title=title,
        unit=UNIT,
        value=float(value),
        source=source,
        as_of=as_of,
    )


def _add_rival(
    world: World, stream: Stream, vendor: VendorRow, rival: SourceRow, *, value: int, minimum: int
) -> MetricRow:
    """Add what another source says: fresher than the authority, and on the other side of the bar."""
    across = (minimum, HIGHEST_SCORE) if value < minimum else (LOWEST_SCORE, minimum - 1)
    recent = world.started_at - timedelta(minutes=stream.integer(5, 60))
    return _add_metric(world, stream, vendor, rival, value=stream.integer(*across), as_of=recent)


def _plan_refreshes(world: World, stream: Stream, metric: MetricRow, *, value: int, failing: int) -> int:
    """Plan the refreshes up to the first that succeeds; return how many minutes that one takes."""
    minutes = 0
    for n in range(1, failing + 2):
        minutes = stream.integer(*REFRESH_MINUTES)
        fails = n <= failing
        world.hub.refresh_plans.append(
            RefreshPlanRow(
                id=f"plan-{metric.id}-{n}",
                metric_id=metric.id,
                n=n,
                outcome="failed" if fails else "succeeded",
                minutes=minutes,
                value=None if fails else float(value),
                error=stream.choice(PIPELINE_ERRORS) if fails else None,
            )
        )
    return minutes
