"""License renewals: fresh days left, seats and term by the policy, approved by cost, recorded afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from enum import StrEnum

from companyos_gateway.scenarios import kit

TYPE_KEY, METRIC_KEY = "license_renewal", "license_days_left"
DAYS_LEFT, MANY_DAYS_LEFT = (32, 60), (100, 300)
"""Ranges of the days left of a license that may be renewed, beyond its ticket's due date, and of one that may not."""

WINDOW_STEP = 30
"""Step, in days, of the time before its end within which a license may be renewed."""

MIN_DAYS, MAX_DAYS = 5, MANY_DAYS_LEFT[1]
STALE_DAYS = (1, 14)
"""Range of days by which a stale value is too high."""

TERMS, CAPS, SEATS = (365, 730, 1095), (180, 270, 360), (40, 120)
EDITIONS = ("team", "business", "enterprise")
PRICES_CENTS = {kit.Role.PROCUREMENT_LEAD: (9_000, 30_000), kit.Role.CFO: (120_000, 400_000)}
"""Range of the price of a seat in cents, by the role that decides about the renewal."""

STEPS_CENTS = {kit.Role.PROCUREMENT_LEAD: 20_000, kit.Role.CFO: 200_000}
"""Steps of the limits of priorities in cents, by the role that decides."""

LEAD_LIMIT_CENTS = (3_700_000, 4_200_000)
"""Range of the cost in cents up to which the procurement lead decides; lower if a cost for the CFO is lower."""


class Variant(StrEnum):
    """Variant of the case: changes of seats, of the term, of both or none."""

    SAME = "same"
    RESIZED = "resized"
    CAPPED = "capped"
    RESIZED_AND_CAPPED = "resized_and_capped"

    @property
    def is_resized(self) -> bool:
        """Return whether the policy sizes a renewal by the seats in use."""
        return self in (Variant.RESIZED, Variant.RESIZED_AND_CAPPED)

    @property
    def is_capped(self) -> bool:
        """Return whether the policy limits the term."""
        return self in (Variant.CAPPED, Variant.RESIZED_AND_CAPPED)


class RefusalGround(StrEnum):
    """Ground for refusing a renewal; the value is the policy's reason code."""

    TOO_EARLY = "requirement_not_met"
    SUSPENDED = "policy_violation"
    COVERED = "duplicate"


@dataclass(frozen=True, kw_only=True)
class License:
    """A license and the terms of its renewal."""

    variant: Variant
    ground: RefusalGround | None
    role: kit.Role
    record: kit.RecordRow
    ends_on: date
    vendor: kit.VendorRow
    days_left: int
    longest_term_days: int | None
    against_ids: tuple[str, ...]
    """The suspended vendor, or the renewed record that already covers the same license."""
    lookalike: kit.RecordRow | None
    """A license of the same product from another vendor."""
    metric: kit.MetricSpec | None = None

    @property
    def seats(self) -> int:
        """The number of seats to renew."""
        seats: int = self.record.fields["seats"]
        return min(self.record.fields["seats_used"], seats) if self.variant.is_resized else seats

    @property
    def amount_cents(self) -> int:
        """The cost of the renewal."""
        return self.seats * int(self.record.fields["price_per_seat_cents"])

    @property
    def new_end(self) -> date:
        """The last day of the renewed license."""
        term: int = self.record.fields["term_days"]
        return self.ends_on + timedelta(days=min(term, self.longest_term_days or term))


class LicenseRenewal(kit.DeclaredScenario[License]):
    """Renew a software license: check the days left, choose seats and term, get approval, and update the license."""

    name, team, topic, max_steps = "license_renewal", "procurement", "renewals", 140
    tags, duplicate_tags, precise_citation = ("license", "renewal"), ("license",), "vendor"
    held_out = frozenset({Variant.RESIZED_AND_CAPPED.value})
    always = (kit.Kind.MISSING_PRIORITY, kit.Kind.STALE_METRIC)
    applicable = kit.buildable_kinds(opt_in=kit.OPT_IN_KINDS)
    distractors = (*kit.USUAL_DISTRACTORS, "datahub_update_vendor")
    tools = (*kit.USUAL_TOOLS, *kit.METRIC_TOOLS, "datahub_get_vendor")

    def draw(self, build: kit.BuildContext) -> License:
        """Add the license, its vendor and the records that resemble it."""
        world, stream = build.world, build.stream
        ground = build.draw_ground(RefusalGround)
        variant, role = stream.choice(list(Variant)), stream.choice(list(PRICES_CENTS))
        is_suspended = ground is RefusalGround.SUSPENDED
        vendor = kit.draw_vendor(world, stream, status="suspended" if is_suspended else "active", goods="license")
        kit.draw_certificates(world, stream, vendor, expired=kit.Kind.EXPIRED_CERTIFICATE in build.kinds)
        days_left = stream.integer(*(MANY_DAYS_LEFT if ground is RefusalGround.TOO_EARLY else DAYS_LEFT))
        ends_on = build.today + timedelta(days=days_left)
        record = _file_license(build, vendor, role, ends_on)
        against_ids = (vendor.id,) if is_suspended else ()
        if ground is RefusalGround.COVERED:
            covering = build.copy_record(record, state="renewed", ends_on=ends_on + timedelta(days=365))
            against_ids = (covering.id,)
        lookalike = None
        if kit.Kind.SIMILAR_NAMES in build.kinds:
            other = kit.draw_vendor(world, stream, status="active", goods="license")
            kit.draw_certificates(world, stream, other)
            lookalike = build.copy_record(record, {"seats_used": stream.integer(10, 30)}, vendor_id=other.id)
        return License(
            variant=variant,
            ground=ground,
            role=role,
            record=record,
            ends_on=ends_on,
            vendor=vendor,
            days_left=days_left,
            longest_term_days=stream.choice(CAPS) if variant.is_capped else None,
            against_ids=against_ids,
            lookalike=lookalike,
        )

    def slots(self, facts: License) -> Mapping[str, str]:
        """Return the license, the product and the vendor."""
        record, vendor = facts.record, facts.vendor
        named = {"license": record.id, "title": record.title, "product": record.fields["product"]}
        return named | {"vendor": vendor.name, "vendor_id": vendor.id}

    def answers(self, build: kit.BuildContext, facts: License) -> Mapping[str, kit.AcceptedValue]:
        """Return the product, the price of a seat and the certificate that expires first."""
        held = [one for one in build.world.datahub.certificates if one.vendor_id == facts.vendor.id]
        price_cents = facts.record.fields["price_per_seat_cents"]
        return {
            "product": facts.record.fields["product"],
            "price_cents": price_cents,
            "price": f"{price_cents / 100:.2f}",
            "certificate": min(held, key=lambda one: one.expires_on).kind,
        }

    def figures(self, facts: License, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw the window, the limits of priorities and the maximum term; other versions have another window."""
        left, longest = facts.days_left, MAX_DAYS - WINDOW_STEP
        if (facts.ground is RefusalGround.TOO_EARLY) is in_force:
            window = min(stream.integer(WINDOW_STEP, left - 1), longest)
            window -= window % WINDOW_STEP
        else:
            window = stream.integer(left, max(left, longest))
            window += -window % WINDOW_STEP
        limits = kit.priority_limits(stream, facts.amount_cents, priority, step=STEPS_CENTS[facts.role])
        cap = {"longest_term_days": facts.longest_term_days} if facts.longest_term_days else {}
        return {"window_days": window, **limits, **cap}

    def policy_body(self, facts: License, figures: kit.Figures) -> str:
        """Return the policy, with its sentences on seats and the maximum term."""
        words = self.texts()["policy"]
        seats = words["used_seats"] if facts.variant.is_resized else words["all_seats"]
        capped = words["capped"] if facts.variant.is_capped else ""
        return str(words["body"]).replace("SEATS", seats).replace("CAPPED", capped)

    def complete(self, build: kit.BuildContext, facts: License, policy: kit.PolicyRow, slot: kit.KeySlot) -> License:
        """Add the days left; other sources report a value on the other side of the window."""
        window, left = policy.parameters["window_days"], facts.days_left
        inside, outside = (MIN_DAYS, window), (window + 1, MAX_DAYS)
        is_early = facts.ground is RefusalGround.TOO_EARLY
        other_keys = ("spend_to_date", "delivery_score")
        plan = kit.MetricPlan(
            key=METRIC_KEY,
            subject=facts.record.id,
            title=_metric_title(facts.record),
            unit="days",
            sources=kit.choose_sources(build.world, build.stream, key=METRIC_KEY, other_keys=other_keys),
            value=left,
            draw_stale_value=lambda own: own.integer(*inside) if is_early else left + own.integer(*STALE_DAYS),
            draw_conflicting_value=lambda own: own.integer(*(inside if is_early else outside)),
            lookalike=kit.lookalike_metric(
                facts.lookalike, _metric_title, lambda own: kit.draw_other_value(own, left, MIN_DAYS, MAX_DAYS)
            ),
        )
        return replace(facts, metric=kit.add_task_metric(build.world, build.stream, plan, build.kinds))

    def thresholds(self, facts: License, stream: kit.Stream, request: kit.Request) -> kit.Thresholds:
        """Draw the limit of the procurement lead, above which the CFO decides; it is below any cost for the CFO."""
        limit = kit.rounded_amount(stream, *LEAD_LIMIT_CENTS)
        if facts.role is kit.Role.CFO:
            limit = min(limit, facts.amount_cents - 500)
        return [(limit, kit.Role.PROCUREMENT_LEAD), (None, kit.Role.CFO)]

    def solution(self, facts: License, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Renew the license after its approval, or refuse."""
        record, vendor, metric, window = facts.record, facts.vendor, facts.metric, policy.parameters["window_days"]
        assert metric is not None
        request = kit.Request(
            type_key=TYPE_KEY,
            subject=record.id,
            role=facts.role,
            amount_cents=facts.amount_cents,
            fields=kit.request_fields(
                license_id=record.id,
                seats=facts.seats,
                amount_cents=facts.amount_cents,
                new_end=facts.new_end,
                license_days_left=kit.MetricValue(metric),
                days_left_as_of=kit.MetricTime(metric),
            ),
        )
        renewed = kit.RecordGoal(
            record_id=record.id, state="renewed", ends_on=facts.new_end.isoformat(), fields={"seats": facts.seats}
        )
        grounds = {
            RefusalGround.TOO_EARLY: kit.MetricChecks(metric).above_fact(window),
            RefusalGround.SUSPENDED: kit.vendor_status_shown(vendor.id),
            RefusalGround.COVERED: kit.record_shown(record.id),
        }
        outcome = kit.Outcome(
            requests=(request,),
            goals=(renewed,),
            facts=(grounds[facts.ground],) if facts.ground else (),
            metrics=(metric,),
            subjects=(record.id, vendor.id),
        )
        return kit.Solution(
            variant=facts.variant,
            outcome=outcome,
            refusal=kit.refusal_for(facts.ground, policy, *facts.against_ids),
            affected={kit.Kind.EXPIRED_CERTIFICATE: vendor.id},
        )


def _file_license(build: kit.BuildContext, vendor: kit.VendorRow, role: kit.Role, ends_on: date) -> kit.RecordRow:
    stream = build.stream
    product, edition = stream.choice(kit.pool("data")["slots"]["license"]), stream.choice(EDITIONS)
    term, seats = stream.choice(TERMS), stream.integer(*SEATS)
    low, high = PRICES_CENTS[role]
    starts_on = ends_on - timedelta(days=term)
    return build.file_record(
        "license",
        title=f"License: {product}, {edition} edition",
        state="expiring",
        day=kit.working_days_from(starts_on, -stream.integer(1, 10)),
        fields={
            "product": product,
            "seats": seats,
            "seats_used": seats - stream.integer(4, 30),
            "price_per_seat_cents": kit.rounded_amount(stream, low, high),
            "term_days": term,
            "auto_renews": False,
        },
        vendor_id=vendor.id,
        starts_on=starts_on,
        ends_on=ends_on,
    )


def _metric_title(license: kit.RecordRow) -> str:
    return f"Days left on {license.title}"


SCENARIO = LicenseRenewal()
