"""Job offers: salary, bonus and start date by the policy, approved by cost, recorded with the position."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from companyos_gateway.scenarios import kit
from companyos_gateway.scenarios.hiring_approval.documents import (
    PEOPLE,
    ROLES,
    Ground,
    Offer,
    Variant,
    add_offer,
)

REASONS: Mapping[Ground | None, str] = {
    Ground.FILLED: "duplicate",
    Ground.FROZEN: "policy_violation",
    Ground.NO_HEADCOUNT: "requirement_not_met",
    Ground.BAD_CHECK: "requirement_not_met",
}
PRIORITY_STEP_CENTS = 100_000


class HiringApproval(kit.DeclaredScenario[Offer]):
    """Make a job offer: check salary band and headcount, get an independent approval, and record the offer."""

    name, team, topic, max_steps = "hiring_approval", PEOPLE, "hiring", 150
    tags, duplicate_tags, precise_citation = ("hiring", "offer"), ("hiring",), "application"
    alternative_types = MappingProxyType({key: roles[0] for key, roles in ROLES.items()})
    held_out = frozenset({Variant.CAPPED_AND_MOVED.value})
    always = (kit.Kind.MISSING_PRIORITY, kit.Kind.APPROVER_OUT_OF_OFFICE)
    applicable = kit.buildable_kinds(
        exclude=(*kit.METRIC_KINDS, kit.Kind.EXPIRED_CERTIFICATE, kit.Kind.LIMIT_TOO_LOW), opt_in=kit.OPT_IN_KINDS
    )
    distractors = (
        "ticketdesk_create_ticket",
        "ticketdesk_link_tickets",
        "datahub_report_data_issue",
        "datahub_query_metric",
        "approvalflow_create_delegation",
    )

    def draw(self, build: kit.BuildContext) -> Offer:
        """Add the draft offer and its position."""
        return add_offer(build)

    def slots(self, facts: Offer) -> Mapping[str, str]:
        """Return the offer, the application, the position, and the salary bands and headcount plan for it."""
        named = {"offer": facts.record.id, "position": facts.position.id, "job": facts.job}
        named |= {"bands": facts.bands_id, "plan": facts.plan_id}
        fields = {**facts.position.fields, **facts.record.fields}
        return named | {name: fields[name] for name in ("application", "cost_center", "location")}

    def reporter_id(self, facts: Offer) -> str:
        """Return the hiring manager."""
        return facts.manager_id

    def figures(self, facts: Offer, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw the limits of priorities; another version requires later starts and decides differently on grounds."""
        rules, grade = facts.rules, facts.position.fields["grade"]
        limits = kit.priority_limits(stream, facts.amount_cents, priority, step=PRIORITY_STEP_CENTS)
        if in_force:
            return {**limits, **rules}
        is_flawed, gap = facts.ground is Ground.BAD_CHECK, (facts.start - facts.notice_ends).days
        return {
            **limits,
            **rules,
            "external_percent": rules["external_percent"] - stream.integer(4, 9),
            "internal_percent": rules["internal_percent"] - stream.integer(4, 9),
            "lead_days": gap + stream.integer(4, 12),
            "exempt_from_grade": grade if facts.ground is Ground.FROZEN else grade + 1,
            "check_valid_days": rules["check_valid_days"] + 30
            if is_flawed
            else (gap + stream.integer(20, 30)) // 5 * 5,
        }

    def thresholds(self, facts: Offer, stream: kit.Stream, request: kit.Request) -> kit.Thresholds:
        """Return the HR lead's limit for external candidates, above which the CFO decides; others have one role."""
        *lower, highest = ROLES[request.type_key]
        return [*((facts.limit_cents, role) for role in lower), (None, highest)]

    def deputies(self, build: kit.BuildContext, facts: Offer, request: kit.Request) -> set[str]:
        """Return team leads and Finance employees, or members of the internal candidate's team and of other teams."""
        if facts.candidate:
            return kit.members_without_role(build.world, facts.candidate.team_id, "platform", "data", "finance")
        return kit.leads_and_finance(build.world)

    def solution(self, facts: Offer, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Record the permitted terms after their approval, or refuse."""
        record, decisive = facts.record, facts.decisive
        terms = {"salary_cents": facts.salary_cents, "sign_on_cents": facts.sign_on_cents}
        made = kit.RecordGoal(
            record_id=record.id,
            state="approved",
            fields={**terms, "start_date": facts.start.isoformat()},
            reference_field="approval_ref",
        )
        ends = {facts.position.id: "offered"} | dict.fromkeys(facts.rivals, "withdrawn")
        outcome = kit.Outcome(
            requests=(_request(facts),),
            goals=(made, *(kit.RecordGoal(record_id=one, state=state) for one, state in ends.items())),
            facts=_facts_against(facts, decisive) if decisive else (),
            subjects=tuple(one.id for one in (record, facts.position, decisive) if one),
        )
        refusal = kit.Refusal(REASONS[facts.ground], (decisive.id,)) if decisive else None
        return kit.Solution(variant=facts.variant, outcome=outcome, refusal=refusal)


def _facts_against(facts: Offer, decisive: kit.RecordRow) -> tuple[kit.Fact, ...]:
    """Return the facts on which a refusal is based."""
    taken = facts.taken if facts.ground is Ground.NO_HEADCOUNT else ()
    is_filled = facts.ground is Ground.FILLED
    other = kit.record_found(decisive.id, facts.position.id) if is_filled else kit.record_shown(decisive.id)
    return kit.record_shown(facts.record.id), other, *(kit.record_shown(one, "state") for one in taken)


def _request(facts: Offer) -> kit.Request:
    """Return the request with the permitted terms; neither the hiring manager nor the candidate decides."""
    candidate = facts.candidate
    return kit.Request(
        type_key=facts.type_key,
        subject=facts.record.id,
        role=facts.role,
        amount_cents=facts.amount_cents,
        holder_ids=frozenset({str(candidate.manager_id)}) if candidate else None,
        excluded_ids=frozenset({facts.manager_id, candidate.id if candidate else facts.manager_id}),
        fields=kit.request_fields(
            offer_id=facts.record.id,
            hiring_manager_id=facts.manager_id,
            salary_cents=facts.salary_cents,
            sign_on_cents=facts.sign_on_cents,
            first_year_amount_cents=facts.amount_cents,
            start_date=facts.start,
        ),
    )


SCENARIO = HiringApproval()
