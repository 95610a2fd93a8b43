"""Licence renewals: fresh days left, size and term by the policy, approved by cost, recorded afterwards."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from companyos_gateway.chaos import Kind
from companyos_gateway.chaos.kinds import OPT_IN_KINDS
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.evaluation.facts import record_shown, vendor_status_shown
from companyos_gateway.evaluation.goals import RecordGoal
from companyos_gateway.evaluation.metric_checks import MetricChecks
from companyos_gateway.evaluation.outcome import MetricTime, MetricValue, Outcome, Request
from companyos_gateway.scenarios.blocks.declared_scenario import (
    DeclaredScenario,
    Solution,
    policy_refs,
    request_fields,
)
from companyos_gateway.scenarios.blocks.metrics import (
    LookalikeMetric,
    MetricPlan,
    add_task_metric,
    choose_sources,
    draw_other_value,
)
from companyos_gateway.scenarios.blocks.policy_versions import PolicyParameters, draw_priority_limits
from companyos_gateway.scenarios.blocks.ticket_scenario import buildable_kinds
from companyos_gateway.scenarios.blocks.tools import (
    APPROVAL_TOOLS,
    METRIC_TOOLS,
    PEOPLE_TOOLS,
    POLICY_TOOLS,
    RECORD_TOOLS,
    TICKET_TOOLS,
)
from companyos_gateway.scenarios.license_renewal.documents import (
    DAYS_LEFT,
    LONGEST_DAYS,
    Licence,
    RefusalGround,
    Variant,
    add_licence,
)
from companyos_gateway.world.builder import KeySlot, WorldBuilder
from companyos_gateway.world.records import rounded_amount
from companyos_gateway.world.seed_documents.approvalflow import AcceptedValue
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

TYPE_KEY, METRIC_KEY = "licence_renewal", "licence_days_left"
STEPS_CENTS = {Role.PROCUREMENT_LEAD: 20_000, Role.CFO: 200_000}
"""The limits of priorities are multiples of these, by the role that decides."""

LEAD_LIMIT_CENTS = (3_700_000, 4_200_000)
"""Range of the cost up to which the procurement lead decides; lower where the CFO decides about less."""


class LicenseRenewal(DeclaredScenario[Licence]):
    """Renew a licence by the policy: fresh days left, right size and term, approved, recorded, resolved."""

    name, team, topic, max_steps = "license_renewal", "procurement", "renewals", 140
    tags, duplicate_tags, precise_citation = ("licence", "renewal"), ("licence",), "vendor"
    held_out = frozenset({Variant.RESIZED_AND_CAPPED.value})
    always = (Kind.MISSING_PRIORITY, Kind.STALE_METRIC)
    applicable = buildable_kinds(opt_in=OPT_IN_KINDS)
    distractors = (
        "datahub_update_vendor",
        "datahub_report_data_issue",
        "ticketdesk_create_ticket",
        "approvalflow_create_delegation",
        "approvalflow_withdraw_approval",
    )
    tools = (
        *TICKET_TOOLS,
        *METRIC_TOOLS,
        *RECORD_TOOLS,
        "datahub_get_vendor",
        *PEOPLE_TOOLS,
        *POLICY_TOOLS,
        *APPROVAL_TOOLS,
        *distractors,
    )

    def draw(self, world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> Licence:
        """Add the licence, its vendor and the records that resemble it."""
        return add_licence(world, stream, kinds, must_refuse=must_refuse)

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

    def answers(self, world: WorldBuilder, facts: Licence) -> Mapping[str, AcceptedValue]:
        """Name the product, the price of a seat and the certificate that expires first."""
        held = [one for one in world.datahub.certificates if one.vendor_id == facts.vendor.id]
        price_cents = facts.record.fields["price_per_seat_cents"]
        return {
            "product": facts.record.fields["product"],
            "price_cents": price_cents,
            "price": f"{price_cents / 100:.2f}",
            "certificate": min(held, key=lambda one: one.expires_on).kind,
        }

    def figures(self, facts: Licence, stream: Stream, priority: Priority, *, in_force: bool) -> PolicyParameters:
        """Draw the window, the limits of priorities and the longest term; other versions have another window."""
        step = STEPS_CENTS[facts.role]
        medium, high, critical = draw_priority_limits(stream, facts.amount_cents, priority, step=step)
        left, longest = facts.days_left, LONGEST_DAYS - 20
        if (facts.ground is RefusalGround.TOO_EARLY) is in_force:
            window = min(stream.integer(DAYS_LEFT[0] - 12, left - 1), longest)
        else:
            window = stream.integer(left, max(left, longest))
        figures = {
            "window_days": window,
            "medium_from_cents": medium,
            "high_from_cents": high,
            "critical_from_cents": critical,
        }
        if facts.longest_term_days is None:
            return figures
        return {**figures, "longest_term_days": facts.longest_term_days}

    def policy_body(self, facts: Licence, figures: PolicyParameters) -> str:
        """Return the policy, with its sentences on seats and the longest term."""
        words = self.texts()["policy"]
        seats = words["used_seats"] if facts.variant.is_resized else words["all_seats"]
        capped = words["capped"] if facts.variant.is_capped else ""
        return str(words["body"]).replace("SEATS", seats).replace("CAPPED", capped)

    def complete(
        self,
        world: WorldBuilder,
        stream: Stream,
        facts: Licence,
        policy: PolicyRow,
        slot: KeySlot,
        kinds: Collection[Kind],
    ) -> Licence:
        """Add the days left."""
        plan = _days_plan(world, stream, facts, policy.parameters["window_days"])
        return replace(facts, metric=add_task_metric(world, stream, plan, kinds))

    def thresholds(self, facts: Licence, stream: Stream, request: Request) -> Sequence[tuple[int | None, Role]]:
        """Let the CFO decide above the limit of the procurement lead, which is below any cost that the CFO decides."""
        limit = rounded_amount(stream, *LEAD_LIMIT_CENTS)
        if facts.role is Role.CFO:
            limit = min(limit, facts.amount_cents - 500)
        return [(limit, Role.PROCUREMENT_LEAD), (None, Role.CFO)]

    def solution(self, facts: Licence, policy: PolicyRow, ticket_key: str) -> Solution:
        """Renew the licence after its approval, or refuse."""
        record, vendor, metric, window = facts.record, facts.vendor, facts.metric, policy.parameters["window_days"]
        assert metric is not None
        request = Request(
            type_key=TYPE_KEY,
            subject=record.id,
            role=facts.role,
            amount_cents=facts.amount_cents,
            fields=request_fields(
                licence_id=record.id,
                seats=facts.seats,
                amount_cents=facts.amount_cents,
                new_end=facts.new_end,
                licence_days_left=MetricValue(metric),
                days_left_as_of=MetricTime(metric),
            ),
        )
        renewed = RecordGoal(
            record_id=record.id, state="renewed", ends_on=facts.new_end.isoformat(), fields={"seats": facts.seats}
        )
        grounds = {
            RefusalGround.TOO_EARLY: MetricChecks(metric).fact(lambda left: left > window),
            RefusalGround.SUSPENDED: vendor_status_shown(vendor.id),
            RefusalGround.COVERED: record_shown(record.id),
        }
        outcome = Outcome(
            requests=(request,),
            goals=(renewed,),
            facts=(grounds[facts.ground],) if facts.ground else (),
            metrics=(metric,),
            subjects=(record.id, vendor.id),
        )
        return Solution(
            variant=facts.variant,
            outcome=outcome,
            refusal=_refusal(facts, policy),
            struck={Kind.EXPIRED_CERTIFICATE: vendor.id},
        )


def _days_plan(world: WorldBuilder, stream: Stream, facts: Licence, window: int) -> MetricPlan:
    """Return the plan of the days left; other sources see them on the other side of the window."""
    left, lookalike = facts.days_left, facts.lookalike
    is_early = facts.ground is RefusalGround.TOO_EARLY
    other_side = (5, window) if is_early else (window + 1, LONGEST_DAYS)
    stale = (5, window if is_early else LONGEST_DAYS)
    return MetricPlan(
        key=METRIC_KEY,
        subject=facts.record.id,
        title=f"Days left on {facts.record.title}",
        unit="days",
        sources=choose_sources(world, stream, key=METRIC_KEY, other_keys=("spend_to_date", "delivery_score")),
        value=left,
        draw_stale_value=lambda own: draw_other_value(own, left, *stale),
        draw_conflicting_value=lambda own: own.integer(*other_side),
        lookalike=None
        if lookalike is None
        else LookalikeMetric(
            subject=lookalike.id,
            title=f"Days left on {lookalike.title}",
            draw_value=lambda own: draw_other_value(own, left, 5, LONGEST_DAYS),
        ),
    )


def _refusal(facts: Licence, policy: PolicyRow) -> Refusal | None:
    if facts.ground is None:
        return None
    if facts.ground is RefusalGround.SUSPENDED:
        return Refusal(facts.ground.value, (facts.vendor.id,))
    if facts.covering is not None:
        return Refusal(facts.ground.value, (facts.covering.id,))
    return Refusal(facts.ground.value, policy_refs(policy))


SCENARIO = LicenseRenewal()
