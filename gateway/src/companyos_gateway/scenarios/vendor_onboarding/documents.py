"""The papers of an onboarding: the vendor, its contract and its compliance score."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation.cases import MetricSpec
from companyos_gateway.scenarios.blocks.metrics import (
    LookalikeMetric,
    MetricPlan,
    add_task_metric,
    choose_sources,
    draw_other_value,
)
from companyos_gateway.scenarios.blocks.texts import load_texts
from companyos_gateway.scenarios.blocks.ticket import TicketPlan
from companyos_gateway.scenarios.vendor_onboarding.case import METRIC_KEY
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.people import VENDOR_OPERATIONS
from companyos_gateway.world.records import draw_contract, rounded_amount
from companyos_gateway.world.seed_documents.datahub import RecordRow, VendorRow
from companyos_gateway.world.vendors import draw_certificates, draw_namesake, draw_vendor
from companyos_shared.streams import Stream

AMOUNTS = (8_000_000, 60_000_000)
"""Amounts of contracts in cents; they leave room for three limits of the policy below them."""

HIGHEST_SCORE, LOWEST_SCORE = 98, 40
UNIT = "points"


@dataclass(frozen=True)
class OnboardingDocuments:
    """The vendor with its contract."""

    vendor: VendorRow
    contract: RecordRow
    amount_cents: int
    lookalike: VendorRow | None = None
    """Another vendor of nearly the same name."""


def add_vendor_and_contract(world: WorldBuilder, stream: Stream, kinds: Collection[Kind]) -> OnboardingDocuments:
    """Add the vendor and its contract, and a vendor of a similar name with one of its own where that strikes."""
    vendor = draw_vendor(world, stream)
    vendor.status = "prospect"
    vendor.risk_tier = stream.weighted([("low", 4), ("medium", 4), ("high", 3)])
    draw_certificates(world, stream, vendor, expired=Kind.EXPIRED_CERTIFICATE in kinds)
    amount_cents = rounded_amount(stream, *AMOUNTS)
    contract = draw_contract(world, stream, vendor, amount_cents=amount_cents, state="draft")
    if Kind.SIMILAR_NAMES not in kinds:
        return OnboardingDocuments(vendor, contract, amount_cents)
    lookalike = draw_namesake(world, stream, vendor)
    draw_certificates(world, stream, lookalike)
    draw_contract(world, stream, lookalike, state="active")
    return OnboardingDocuments(vendor, contract, amount_cents, lookalike)


def add_score(
    world: WorldBuilder,
    stream: Stream,
    documents: OnboardingDocuments,
    minimum: int,
    *,
    must_refuse: bool,
    kinds: Collection[Kind],
) -> MetricSpec:
    """Add the vendor's score, below the policy's bar where the vendor must be refused.

    The old value differs from the fresh one: above the bar where that falls below it, else on either side. Another
    source says the opposite of the authority.
    """
    sources = choose_sources(world, stream, key=METRIC_KEY, other_keys=("risk_index", "delivery_score"))
    value = stream.integer(LOWEST_SCORE, minimum - 1) if must_refuse else stream.integer(minimum, HIGHEST_SCORE)
    old = (minimum if must_refuse else LOWEST_SCORE, HIGHEST_SCORE)
    across = (minimum, HIGHEST_SCORE) if value < minimum else (LOWEST_SCORE, minimum - 1)
    lookalike = documents.lookalike
    plan = MetricPlan(
        key=METRIC_KEY,
        subject=documents.vendor.id,
        title=_title(documents.vendor),
        unit=UNIT,
        sources=sources,
        value=value,
        draw_stale_value=lambda own: draw_other_value(own, value, *old),
        draw_conflicting_value=lambda own: own.integer(*across),
        lookalike=None
        if lookalike is None
        else LookalikeMetric(
            subject=lookalike.id,
            title=_title(lookalike),
            draw_value=lambda own: draw_other_value(own, value, LOWEST_SCORE, HIGHEST_SCORE),
        ),
    )
    return add_task_metric(world, stream, plan, kinds)


def _title(vendor: VendorRow) -> str:
    return f"Compliance score of {vendor.legal_name}"


def texts() -> dict[str, Any]:
    """Return the words of the scenario."""
    return load_texts(__file__)


def ticket_plan(world: WorldBuilder, documents: OnboardingDocuments, kinds: Collection[Kind]) -> TicketPlan:
    """Return how the ticket looks."""
    words = texts()

    def fill(stream: Stream, text: str) -> str:
        return text.format(
            contract=documents.contract.id,
            vendor_id=documents.vendor.id,
            legal_name=documents.vendor.legal_name,
            person=stream.choice(world.staff.active()).name,
        )

    def describe(stream: Stream) -> str:
        by = "name" if Kind.SIMILAR_NAMES in kinds else stream.choice(["contract", "vendor", "name"])
        return fill(stream, stream.choice(words["citations"][by]))

    return TicketPlan(
        team_id=VENDOR_OPERATIONS,
        titles=[title.format(vendor=documents.vendor.name) for title in words["titles"]],
        describe=describe,
        fill=fill,
        words=words,
        duplicate_texts=words["citations"]["name"],
        tags=["vendor", "onboarding"],
        duplicate_tags=["vendor"],
    )
