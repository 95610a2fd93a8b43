"""Licence renewals: fresh days left, size and term by the policy, approved by cost, recorded afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from companyos_gateway.scenarios import kit
from companyos_gateway.scenarios.license_renewal.documents import (
    DAYS_LEFT,
    LONGEST_DAYS,
    Licence,
    RefusalGround,
    Variant,
    add_licence,
)

TYPE_KEY, METRIC_KEY = "licence_renewal", "licence_days_left"
STEPS_CENTS = {kit.Role.PROCUREMENT_LEAD: 20_000, kit.Role.CFO: 200_000}
"""The limits of priorities are multiples of these, by the role that decides."""

LEAD_LIMIT_CENTS = (3_700_000, 4_200_000)
"""Range of the cost up to which the procurement lead decides; lower where the CFO decides about less."""


class LicenseRenewal(kit.DeclaredScenario[Licence]):
    """Renew a licence by the policy: fresh days left, right size and term, approved, recorded, resolved."""

    name, team, topic, max_steps = "license_renewal", "procurement", "renewals", 140
    tags, duplicate_tags, precise_citation = ("licence", "renewal"), ("licence",), "vendor"
    held_out = frozenset({Variant.RESIZED_AND_CAPPED.value})
    always = (kit.Kind.MISSING_PRIORITY, kit.Kind.STALE_METRIC)
    applicable = kit.buildable_kinds(opt_in=kit.OPT_IN_KINDS)
    distractors = (
        "datahub_update_vendor",
        "datahub_report_data_issue",
        "ticketdesk_create_ticket",
        "approvalflow_create_delegation",
        "approvalflow_withdraw_approval",
    )
    tools = (*kit.USUAL_TOOLS, *kit.METRIC_TOOLS, "datahub_get_vendor")

    def draw(self, build: kit.BuildContext) -> Licence:
        """Add the licence, its vendor and the records that resemble it."""
        return add_licence(build)

    def slots(self, facts: Licence) -> Mapping[str, str]:
        """Name the licence, the product and the vendor."""
        record, vendor = facts.record, facts.vendor
        return {
            "licence": record.id,
            "title": record.title,
            "product": record.fields["product"],
            "vendor": vendor.name,
            "vendor_id": vendor.id,
        }

    def answers(self, build: kit.BuildContext, facts: Licence) -> Mapping[str, kit.AcceptedValue]:
        """Name the product, the price of a seat and the certificate that expires first."""
        held = [one for one in build.world.datahub.certificates if one.vendor_id == facts.vendor.id]
        price_cents = facts.record.fields["price_per_seat_cents"]
        return {
            "product": facts.record.fields["product"],
            "price_cents": price_cents,
            "price": f"{price_cents / 100:.2f}",
            "certificate": min(held, key=lambda one: one.expires_on).kind,
        }

    def figures(self, facts: Licence, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw the window, the limits of priorities and the longest term; other versions have another window."""
        step = STEPS_CENTS[facts.role]
        left, longest = facts.days_left, LONGEST_DAYS - 20
        if (facts.ground is RefusalGround.TOO_EARLY) is in_force:
            window = min(stream.integer(DAYS_LEFT[0] - 12, left - 1), longest)
        else:
            window = stream.integer(left, max(left, longest))
        figures = {
            "window_days": window,
            **kit.priority_limits(stream, facts.amount_cents, priority, step=step),
        }
        if facts.longest_term_days is None:
            return figures
        return {**figures, "longest_term_days": facts.longest_term_days}

    def policy_body(self, facts: Licence, figures: kit.Figures) -> str:
        """Return the policy, with its sentences on seats and the longest term."""
        words = self.texts()["policy"]
        seats = words["used_seats"] if facts.variant.is_resized else words["all_seats"]
        capped = words["capped"] if facts.variant.is_capped else ""
        return str(words["body"]).replace("SEATS", seats).replace("CAPPED", capped)

    def complete(self, build: kit.BuildContext, facts: Licence, policy: kit.PolicyRow, slot: kit.KeySlot) -> Licence:
        """Add the days left."""
        world, stream = build.world, build.stream
        plan = _days_plan(build, facts, policy.parameters["window_days"])
        return replace(facts, metric=kit.add_task_metric(world, stream, plan, build.kinds))

    def thresholds(self, facts: Licence, stream: kit.Stream, request: kit.Request) -> kit.Thresholds:
        """Let the CFO decide above the limit of the procurement lead, which is below any cost that the CFO decides."""
        limit = kit.rounded_amount(stream, *LEAD_LIMIT_CENTS)
        if facts.role is kit.Role.CFO:
            limit = min(limit, facts.amount_cents - 500)
        return [(limit, kit.Role.PROCUREMENT_LEAD), (None, kit.Role.CFO)]

    def solution(self, facts: Licence, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Renew the licence after its approval, or refuse."""
        record, vendor, metric, window = facts.record, facts.vendor, facts.metric, policy.parameters["window_days"]
        assert metric is not None
        request = kit.Request(
            type_key=TYPE_KEY,
            subject=record.id,
            role=facts.role,
            amount_cents=facts.amount_cents,
            fields=kit.request_fields(
                licence_id=record.id,
                seats=facts.seats,
                amount_cents=facts.amount_cents,
                new_end=facts.new_end,
                licence_days_left=kit.MetricValue(metric),
                days_left_as_of=kit.MetricTime(metric),
            ),
        )
        renewed = kit.RecordGoal(
            record_id=record.id, state="renewed", ends_on=facts.new_end.isoformat(), fields={"seats": facts.seats}
        )
        grounds = {
            RefusalGround.TOO_EARLY: kit.MetricChecks(metric).fact(lambda left: left > window),
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
            refusal=_refusal(facts, policy),
            struck={kit.Kind.EXPIRED_CERTIFICATE: vendor.id},
        )


def _days_plan(build: kit.BuildContext, facts: Licence, window: int) -> kit.MetricPlan:
    """Return the plan of the days left; other sources see them on the other side of the window."""
    world, stream = build.world, build.stream
    left, lookalike = facts.days_left, facts.lookalike
    is_early = facts.ground is RefusalGround.TOO_EARLY
    other_side = (5, window) if is_early else (window + 1, LONGEST_DAYS)
    stale = (5, window if is_early else LONGEST_DAYS)
    return kit.MetricPlan(
        key=METRIC_KEY,
        subject=facts.record.id,
        title=f"Days left on {facts.record.title}",
        unit="days",
        sources=kit.choose_sources(world, stream, key=METRIC_KEY, other_keys=("spend_to_date", "delivery_score")),
        value=left,
        draw_stale_value=lambda own: kit.draw_other_value(own, left, *stale),
        draw_conflicting_value=lambda own: own.integer(*other_side),
        lookalike=None
        if lookalike is None
        else kit.LookalikeMetric(
            subject=lookalike.id,
            title=f"Days left on {lookalike.title}",
            draw_value=lambda own: kit.draw_other_value(own, left, 5, LONGEST_DAYS),
        ),
    )


def _refusal(facts: Licence, policy: kit.PolicyRow) -> kit.Refusal | None:
    if facts.ground is None:
        return None
    if facts.ground is RefusalGround.SUSPENDED:
        return kit.Refusal(facts.ground.value, (facts.vendor.id,))
    if facts.covering is not None:
        return kit.Refusal(facts.ground.value, (facts.covering.id,))
    return kit.Refusal(facts.ground.value, kit.policy_refs(policy))


SCENARIO = LicenseRenewal()
