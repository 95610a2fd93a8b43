"""Vendor onboardings: a vendor whose fresh compliance score reaches the policy's minimum, approved by the CFO."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from companyos_gateway.chaos import Kind
from companyos_gateway.chaos.kinds import OPT_IN_KINDS
from companyos_gateway.evaluation.cases import MetricSpec, Refusal
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
from companyos_gateway.scenarios.blocks.policy_versions import (
    PolicyParameters,
    draw_priority_limits,
    priority_of_amount,
)
from companyos_gateway.scenarios.blocks.ticket_scenario import buildable_kinds
from companyos_gateway.scenarios.blocks.tools import (
    APPROVAL_TOOLS,
    METRIC_TOOLS,
    PEOPLE_TOOLS,
    POLICY_TOOLS,
    TICKET_TOOLS,
)
from companyos_gateway.world.builder import KeySlot, WorldBuilder
from companyos_gateway.world.people import VENDOR_OPERATIONS
from companyos_gateway.world.records import draw_contract, rounded_amount
from companyos_gateway.world.seed_documents.approvalflow import AcceptedValue
from companyos_gateway.world.seed_documents.datahub import PolicyRow, RecordRow, RiskTier, VendorRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_gateway.world.vendors import draw_certificates, draw_namesake, draw_vendor
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role

TYPE_KEY, METRIC_KEY, REASON_CODE = "vendor_onboarding", "compliance_score", "requirement_not_met"
AMOUNTS = (8_000_000, 60_000_000)
"""Amounts of contracts in cents; they leave room for three limits of the policy below them."""

CONTROLLER_LIMIT_CENTS = (2_000_000, 6_000_000)
"""Range of the amount up to which a finance controller decides; every onboarding exceeds it."""

MINIMUM_SCORES = (66, 84)
LOWEST_SCORE, HIGHEST_SCORE = 40, 98
RAISED_TIERS: tuple[RiskTier, ...] = ("high", "medium")


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
    vendor: VendorRow
    contract: RecordRow
    amount_cents: int
    lookalike: VendorRow | None
    must_refuse: bool
    score: MetricSpec | None = None


class VendorOnboarding(DeclaredScenario[Onboarding]):
    """Onboard a vendor by the policy: triage and verify its ticket, read its score fresh, get the approval, resolve."""

    name, team, topic, max_steps = "vendor_onboarding", VENDOR_OPERATIONS, "vendors", 150
    tags, duplicate_tags = ("vendor", "onboarding"), ("vendor",)
    held_out = frozenset({Variant.TIERED_AND_RAISED.value})
    always = (Kind.MISSING_PRIORITY, Kind.STALE_METRIC, Kind.APPROVER_OUT_OF_OFFICE)
    applicable = buildable_kinds(opt_in=OPT_IN_KINDS)
    distractors = (
        "ticketdesk_create_ticket",
        "ticketdesk_link_tickets",
        "datahub_update_vendor",
        "datahub_update_record",
        "datahub_report_data_issue",
        "approvalflow_create_delegation",
        "approvalflow_withdraw_approval",
    )
    tools = (
        *TICKET_TOOLS,
        *METRIC_TOOLS,
        "datahub_search_records",
        "datahub_get_record",
        "datahub_get_vendor",
        *PEOPLE_TOOLS,
        *POLICY_TOOLS,
        *APPROVAL_TOOLS,
        *distractors,
    )

    def draw(self, world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> Onboarding:
        """Add the vendor and its contract, and a vendor of a similar name with a contract of its own."""
        variant = stream.choice(list(Variant))
        vendor = draw_vendor(world, stream, status="prospect")
        vendor.risk_tier = stream.weighted([("low", 4), ("medium", 4), ("high", 3)])
        draw_certificates(world, stream, vendor, expired=Kind.EXPIRED_CERTIFICATE in kinds)
        amount_cents = rounded_amount(stream, *AMOUNTS)
        contract = draw_contract(world, stream, vendor, amount_cents=amount_cents, state="draft")
        lookalike = None
        if Kind.SIMILAR_NAMES in kinds:
            lookalike = draw_namesake(world, stream, vendor)
            draw_certificates(world, stream, lookalike)
            draw_contract(world, stream, lookalike, state="active")
        return Onboarding(
            variant=variant,
            vendor=vendor,
            contract=contract,
            amount_cents=amount_cents,
            lookalike=lookalike,
            must_refuse=must_refuse,
        )

    def slots(self, facts: Onboarding) -> Mapping[str, str]:
        """Name the vendor and the contract."""
        vendor = facts.vendor
        return {
            "contract": facts.contract.id,
            "vendor_id": vendor.id,
            "vendor": vendor.name,
            "legal_name": vendor.legal_name,
        }

    def answers(self, world: WorldBuilder, facts: Onboarding) -> Mapping[str, AcceptedValue]:
        """Name the type and the notice period of the contract, and the day on which the first certificate expires."""
        held = [one.expires_on for one in world.datahub.certificates if one.vendor_id == facts.vendor.id]
        fields = facts.contract.fields
        return {
            "notice_days": fields["notice_days"],
            "contract_type": fields["contract_type"],
            "expires_on": min(held).isoformat(),
        }

    def figures(self, facts: Onboarding, stream: Stream, priority: Priority, *, in_force: bool) -> PolicyParameters:
        """Draw the minimum score and the limits of priorities; only the version in force raises by the risk tier."""
        medium, high, critical = draw_priority_limits(stream, facts.amount_cents, priority)
        figures = {
            "minimum_compliance_score": stream.integer(*MINIMUM_SCORES),
            "medium_from_cents": medium,
            "high_from_cents": high,
            "critical_from_cents": critical,
        }
        if in_force and facts.variant.is_raised:
            return {**figures, "raised_risk_tier": stream.choice(RAISED_TIERS)}
        return figures

    def priority(self, facts: Onboarding, figures: PolicyParameters, drawn: Priority) -> Priority:
        """Return the priority of the amount, one level up for the risk tier that the policy raises."""
        limits = [figures[f"{level}_from_cents"] for level in ("medium", "high", "critical")]
        raised = figures.get("raised_risk_tier") == facts.vendor.risk_tier
        return priority_of_amount(facts.amount_cents, limits, raised=raised)

    def policy_body(self, facts: Onboarding, figures: PolicyParameters) -> str:
        """Return the policy, with its sentence on risk tiers where they raise the priority."""
        words = self.texts()["policy"]
        return str(words["body"]).replace("RAISE", words["raise"] if "raised_risk_tier" in figures else "")

    def complete(
        self,
        world: WorldBuilder,
        stream: Stream,
        facts: Onboarding,
        policy: PolicyRow,
        slot: KeySlot,
        kinds: Collection[Kind],
    ) -> Onboarding:
        """Add the vendor's score, below the policy's minimum where the vendor must be refused."""
        plan = _score_plan(world, stream, facts, policy.parameters["minimum_compliance_score"])
        return replace(facts, score=add_task_metric(world, stream, plan, kinds))

    def thresholds(self, facts: Onboarding, stream: Stream, request: Request) -> Sequence[tuple[int | None, Role]]:
        """Let the CFO decide above the limit of a finance controller."""
        return [(rounded_amount(stream, *CONTROLLER_LIMIT_CENTS), Role.FINANCE_CONTROLLER), (None, Role.CFO)]

    def solution(self, facts: Onboarding, policy: PolicyRow, ticket_key: str) -> Solution:
        """Get the approval of the CFO, or refuse below the minimum score."""
        vendor, contract, score = facts.vendor, facts.contract, facts.score
        minimum = policy.parameters["minimum_compliance_score"]
        assert score is not None
        fields = {
            **request_fields(vendor_id=vendor.id, contract_id=contract.id),
            **(request_fields(risk_tier=vendor.risk_tier) if facts.variant.is_tiered else {}),
            **request_fields(
                amount_cents=facts.amount_cents, compliance_score=MetricValue(score), score_as_of=MetricTime(score)
            ),
        }
        request = Request(
            type_key=TYPE_KEY, subject=vendor.id, role=Role.CFO, amount_cents=facts.amount_cents, fields=fields
        )
        outcome = Outcome(
            requests=(request,),
            facts=(MetricChecks(score).fact(lambda value: value < minimum),),
            metrics=(score,),
            subjects=(vendor.id, contract.id),
        )
        return Solution(
            variant=facts.variant,
            outcome=outcome,
            refusal=Refusal(REASON_CODE, policy_refs(policy)) if facts.must_refuse else None,
            struck={Kind.EXPIRED_CERTIFICATE: vendor.id},
        )


def _score_plan(world: WorldBuilder, stream: Stream, facts: Onboarding, minimum: int) -> MetricPlan:
    """Return the plan of the score; other sources see it on the other side of the minimum.

    The stale value of a vendor that must be refused reaches the minimum.
    """
    below, above = (LOWEST_SCORE, minimum - 1), (minimum, HIGHEST_SCORE)
    value = stream.integer(*(below if facts.must_refuse else above))
    other_side = above if facts.must_refuse else below
    stale = above if facts.must_refuse else (LOWEST_SCORE, HIGHEST_SCORE)
    lookalike = facts.lookalike
    return MetricPlan(
        key=METRIC_KEY,
        subject=facts.vendor.id,
        title=_title(facts.vendor),
        unit="points",
        sources=choose_sources(world, stream, key=METRIC_KEY, other_keys=("risk_index", "delivery_score")),
        value=value,
        draw_stale_value=lambda own: draw_other_value(own, value, *stale),
        draw_conflicting_value=lambda own: own.integer(*other_side),
        lookalike=None
        if lookalike is None
        else LookalikeMetric(
            subject=lookalike.id,
            title=_title(lookalike),
            draw_value=lambda own: draw_other_value(own, value, LOWEST_SCORE, HIGHEST_SCORE),
        ),
    )


def _title(vendor: VendorRow) -> str:
    return f"Compliance score of {vendor.legal_name}"


SCENARIO = VendorOnboarding()
