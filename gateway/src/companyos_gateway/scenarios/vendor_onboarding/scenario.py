"""Vendor onboardings: a vendor whose fresh compliance score reaches the policy's minimum, approved by the CFO."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from companyos_gateway.scenarios import kit

TYPE_KEY, METRIC_KEY, REASON_CODE = "vendor_onboarding", "compliance_score", "requirement_not_met"
AMOUNTS = (8_000_000, 60_000_000)
"""Range of contract amounts in cents, which leaves room for three limits of the policy below them."""

CONTROLLER_LIMIT_CENTS = (2_000_000, 6_000_000)
"""Range of the amount up to which a finance controller decides; every onboarding exceeds it."""

MINIMUM_SCORES = (66, 84)
LOWEST_SCORE, HIGHEST_SCORE = 40, 98
RAISED_TIERS = ("high", "medium, high")


class Variant(StrEnum):
    """Variant of the case: use of the risk tier in the request, in the priority, in both or none."""

    PLAIN = "plain"
    TIERED = "tiered"
    RAISED = "raised"
    TIERED_AND_RAISED = "tiered_and_raised"

    @property
    def is_tiered(self) -> bool:
        """Return whether the request states the risk tier."""
        return self in (Variant.TIERED, Variant.TIERED_AND_RAISED)

    @property
    def is_raised(self) -> bool:
        """Return whether the policy raises the priority for a risk tier."""
        return self in (Variant.RAISED, Variant.TIERED_AND_RAISED)


@dataclass(frozen=True, kw_only=True)
class Onboarding:
    """A vendor with its draft contract; `lookalike` is another vendor of nearly the same name."""

    variant: Variant
    vendor: kit.VendorRow
    contract: kit.RecordRow
    amount_cents: int
    lookalike: kit.VendorRow | None
    must_refuse: bool
    score: kit.MetricSpec | None = None


class VendorOnboarding(kit.DeclaredScenario[Onboarding]):
    """Onboard a vendor: triage and verify its ticket, refresh its compliance score, and get approval."""

    name, team, topic, max_steps = "vendor_onboarding", kit.VENDOR_OPERATIONS, "vendors", 150
    tags, duplicate_tags = ("vendor", "onboarding"), ("vendor",)
    held_out = frozenset({Variant.TIERED_AND_RAISED.value})
    always = (kit.Kind.MISSING_PRIORITY, kit.Kind.STALE_METRIC, kit.Kind.APPROVER_OUT_OF_OFFICE)
    applicable = kit.buildable_kinds(opt_in=kit.OPT_IN_KINDS)
    distractors = (*kit.USUAL_DISTRACTORS, "ticketdesk_link_tickets", "datahub_update_vendor", "datahub_update_record")
    tools = (
        *kit.TICKET_TOOLS,
        *kit.METRIC_TOOLS,
        "datahub_search_records",
        "datahub_get_record",
        "datahub_get_vendor",
        *kit.PEOPLE_TOOLS,
        *kit.POLICY_TOOLS,
        *kit.APPROVAL_TOOLS,
    )

    def draw(self, build: kit.BuildContext) -> Onboarding:
        """Add the vendor and its contract, and a vendor of a similar name with its own contract."""
        world, stream = build.world, build.stream
        variant = stream.choice(list(Variant))
        vendor = kit.draw_vendor(world, stream, status="prospect")
        vendor.risk_tier = stream.weighted([("low", 4), ("medium", 4), ("high", 3)])
        kit.draw_certificates(world, stream, vendor, expired=kit.Kind.EXPIRED_CERTIFICATE in build.kinds)
        amount_cents = kit.rounded_amount(stream, *AMOUNTS)
        contract = kit.draw_contract(world, stream, vendor, amount_cents=amount_cents, state="draft")
        lookalike = None
        if kit.Kind.SIMILAR_NAMES in build.kinds:
            lookalike = kit.draw_namesake(world, stream, vendor)
            kit.draw_certificates(world, stream, lookalike)
            kit.draw_contract(world, stream, lookalike, state="active")
        return Onboarding(
            variant=variant,
            vendor=vendor,
            contract=contract,
            amount_cents=amount_cents,
            lookalike=lookalike,
            must_refuse=build.must_refuse,
        )

    def slots(self, facts: Onboarding) -> Mapping[str, str]:
        """Return the vendor and the contract."""
        vendor = facts.vendor
        return {
            "contract": facts.contract.id,
            "vendor_id": vendor.id,
            "vendor": vendor.name,
            "legal_name": vendor.legal_name,
        }

    def answers(self, build: kit.BuildContext, facts: Onboarding) -> Mapping[str, kit.AcceptedValue]:
        """Return the type and the notice period of the contract, and the day on which the first certificate expires."""
        held = [one.expires_on for one in build.world.datahub.certificates if one.vendor_id == facts.vendor.id]
        fields = facts.contract.fields
        return {
            "notice_days": fields["notice_days"],
            "contract_type": fields["contract_type"],
            "expires_on": min(held).isoformat(),
        }

    def figures(self, facts: Onboarding, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw the minimum score and the limits of priorities; only the version in force raises some risk tiers."""
        figures = {
            "minimum_compliance_score": stream.integer(*MINIMUM_SCORES),
            **kit.priority_limits(stream, facts.amount_cents, priority),
        }
        if in_force and facts.variant.is_raised:
            return {**figures, "raised_risk_tiers": stream.choice(RAISED_TIERS)}
        return figures

    def priority(self, facts: Onboarding, figures: kit.Figures, drawn: kit.Priority) -> kit.Priority:
        """Return the priority of the amount, one level up for the risk tier that the policy raises."""
        limits = [figures[f"{level}_from_cents"] for level in ("medium", "high", "critical")]
        raised = facts.vendor.risk_tier in figures.get("raised_risk_tiers", "").split(", ")
        return kit.priority_of_amount(facts.amount_cents, limits, raised=raised)

    def policy_body(self, facts: Onboarding, figures: kit.Figures) -> str:
        """Return the policy, with its sentence on risk tiers if they raise the priority."""
        words = self.texts()["policy"]
        return str(words["body"]).replace("RAISE", words["raise"] if "raised_risk_tiers" in figures else "")

    def complete(
        self, build: kit.BuildContext, facts: Onboarding, policy: kit.PolicyRow, slot: kit.KeySlot
    ) -> Onboarding:
        """Add the vendor's score, below the policy's minimum if the vendor must be refused."""
        world, stream = build.world, build.stream
        plan = _score_plan(build, facts, policy.parameters["minimum_compliance_score"])
        return replace(facts, score=kit.add_task_metric(world, stream, plan, build.kinds))

    def thresholds(self, facts: Onboarding, stream: kit.Stream, request: kit.Request) -> kit.Thresholds:
        """Draw the limit of finance controllers; the CFO decides above it."""
        return [
            (kit.rounded_amount(stream, *CONTROLLER_LIMIT_CENTS), kit.Role.FINANCE_CONTROLLER),
            (None, kit.Role.CFO),
        ]

    def solution(self, facts: Onboarding, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Get the approval of the CFO, or refuse below the minimum score."""
        vendor, contract, score = facts.vendor, facts.contract, facts.score
        minimum = policy.parameters["minimum_compliance_score"]
        assert score is not None
        fields = {
            **kit.request_fields(vendor_id=vendor.id, contract_id=contract.id),
            **(kit.request_fields(risk_tier=vendor.risk_tier) if facts.variant.is_tiered else {}),
            **kit.request_fields(
                amount_cents=facts.amount_cents,
                compliance_score=kit.MetricValue(score),
                score_as_of=kit.MetricTime(score),
            ),
        }
        request = kit.Request(
            type_key=TYPE_KEY, subject=vendor.id, role=kit.Role.CFO, amount_cents=facts.amount_cents, fields=fields
        )
        outcome = kit.Outcome(
            requests=(request,),
            facts=(kit.MetricChecks(score).below_fact(minimum),),
            metrics=(score,),
            subjects=(vendor.id, contract.id),
        )
        return kit.Solution(
            variant=facts.variant,
            outcome=outcome,
            refusal=kit.Refusal(REASON_CODE, kit.policy_refs(policy)) if facts.must_refuse else None,
            affected={kit.Kind.EXPIRED_CERTIFICATE: vendor.id},
        )


def _score_plan(build: kit.BuildContext, facts: Onboarding, minimum: int) -> kit.MetricPlan:
    """Return the plan of the score; other sources report a value on the other side of the minimum.

    The stale value of a vendor that must be refused reaches the minimum.
    """
    world, stream = build.world, build.stream
    below, above = (LOWEST_SCORE, minimum - 1), (minimum, HIGHEST_SCORE)
    value = stream.integer(*(below if facts.must_refuse else above))
    other_side = above if facts.must_refuse else below
    stale = above if facts.must_refuse else (LOWEST_SCORE, HIGHEST_SCORE)
    return kit.MetricPlan(
        key=METRIC_KEY,
        subject=facts.vendor.id,
        title=_title(facts.vendor),
        unit="points",
        sources=kit.choose_sources(world, stream, key=METRIC_KEY, other_keys=("risk_index", "delivery_score")),
        value=value,
        draw_stale_value=lambda own: kit.draw_other_value(own, value, *stale),
        draw_conflicting_value=lambda own: own.integer(*other_side),
        lookalike=kit.lookalike_metric(
            facts.lookalike, _title, lambda own: kit.draw_other_value(own, value, LOWEST_SCORE, HIGHEST_SCORE)
        ),
    )


def _title(vendor: kit.VendorRow) -> str:
    return f"Compliance score of {vendor.legal_name}"


SCENARIO = VendorOnboarding()
