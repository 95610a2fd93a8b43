"""The generator of bug escalations."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from companyos_gateway.chaos import Kind, Profile
from companyos_gateway.chaos.kinds import ASKED_FOR, Group
from companyos_gateway.rubrics import TaskRubric
from companyos_gateway.rubrics.cases import Reading, Refusal
from companyos_gateway.scenarios.bug_escalation.case import METRIC_KEY, NAME, REASON_CODE, TYPE_KEY, Case, Variant
from companyos_gateway.scenarios.bug_escalation.documents import (
    Failure,
    add_other_rate,
    add_policy,
    add_rate,
    add_runbook,
    choose_authority,
    draw_failure,
    texts,
)
from companyos_gateway.scenarios.bug_escalation.rubric import build_rubric
from companyos_gateway.scenarios.parts.deciders import (
    Chain,
    Deciding,
    add_chain,
    field_spec,
    leads_and_finance,
    plan_reactions,
    put_type,
)
from companyos_gateway.scenarios.parts.entry import EntryPlan, add_entry
from companyos_gateway.scenarios.parts.staging import (
    Staged,
    StagedScenario,
    act_for,
    data_and_people,
    draw_chances,
    injections,
)
from companyos_gateway.scenarios.parts.tools import APPROVAL_TOOLS, DESK_TOOLS, METRIC_TOOLS, PEOPLE_TOOLS, POLICY_TOOLS
from companyos_gateway.scenarios.parts.words import draw_brief
from companyos_gateway.world import finish_world, generate_world
from companyos_gateway.world.approvals import EXPIRES_AFTER_MINUTES
from companyos_gateway.world.documents.approvalflow import ApprovalTypeRow, FieldSpecRow, ThresholdRow
from companyos_gateway.world.documents.datahub import PolicyRow
from companyos_gateway.world.draft import World
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company, Role

ALWAYS = (Kind.BLOCKED_TICKET, Kind.MISSING_ASSIGNEE, Kind.STALE_METRIC)
APPLICABLE = data_and_people(without=(Kind.EXPIRED_CERTIFICATE, Kind.SIMILAR_NAMES, Kind.LIMIT_TOO_LOW), also=ASKED_FOR)
FILE_TOOLS = ("datahub_search_records", "datahub_get_record")
DISTRACTORS = (
    "datahub_update_record",
    "datahub_report_data_issue",
    "ticketdesk_create_ticket",
    "ticketdesk_link_tickets",
    "approvalflow_create_delegation",
    "approvalflow_withdraw_approval",
)


class BugEscalation(StagedScenario[Case]):
    """Escalate a bug by the policy: clear its way, an engineer on it, a fresh error rate, the CTO's yes, into work."""

    name = NAME
    held_out = frozenset({Variant.CHAIN.value})
    asked_for = ASKED_FOR - {Kind.PUT_ON_HOLD}
    max_steps = 130
    distractors = DISTRACTORS
    tools = DESK_TOOLS + METRIC_TOOLS + FILE_TOOLS + PEOPLE_TOOLS + POLICY_TOOLS + APPROVAL_TOOLS + DISTRACTORS

    def build(self, seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
        """Draw a company, and put one bug escalation with all that is in its way into it."""
        return build(seed, profile, overrides)

    def rubric(self, case: Case, company: Company) -> TaskRubric:
        """Return the rubric of a bug escalation."""
        return build_rubric(case, company)


def build(seed: int, profile: Profile, overrides: Mapping[str, float]) -> Staged[Case]:
    """Draw a company, and put one bug escalation with all that is in its way into it."""
    stream = Stream(NAME, seed)
    chances = draw_chances(stream, profile, overrides, applicable=APPLICABLE, always=ALWAYS)
    kinds = chances.kinds
    world = generate_world(stream.child("world"))
    act_for(world, stream.child("agent"), TEAM)
    failure = draw_failure(world, stream.child("fault"), must_refuse=chances.must_refuse)
    policy_terms = add_policy(world, stream.child("rules"), failure, kinds)
    sources = choose_authority(world, stream.child("sources"))
    rate = add_rate(world, stream.child("rate"), failure, sources, kinds)
    other_rate = add_other_rate(world, stream.child("other"), failure, sources)
    runbook_id = add_runbook(world, stream.child("runbook"), failure)
    add_approval_type(world, failure, policy_terms.policy, rate)
    chain = add_cto(world, stream.child("chain"), kinds)
    plan = ticket_plan(world, failure)
    entry = add_entry(world, stream.child("desk"), plan, priority=policy_terms.priority, kinds=kinds)
    key, words = entry.ticket.key, texts()["decisions"]
    plan_reactions(world, stream.child("reactions"), type_key=TYPE_KEY, subject=key, words=words, kinds=kinds)
    finish_world(world)
    policy = policy_terms.policy
    case = Case(
        **entry.facts(world, kinds, policy_terms.priority),
        approver_ids=chain.approver_ids,
        refusal=Refusal(REASON_CODE, (policy.policy_id, policy.id)) if failure.must_refuse else None,
        end_status="in_progress",
        variant=failure.variant,
        service=failure.service,
        rate=rate,
        other_rate=other_rate,
        runbook_id=runbook_id,
        lowest_rate=failure.bar,
        policy_id=policy.policy_id,
        kinds=kinds,
    )
    brief = draw_brief(texts(), stream.child("brief"), case.ticket_key)
    return Staged(world, case, brief, injections(profile, kinds, _struck_entities(case, chain, kinds)))


def _struck_entities(case: Case, chain: Chain, kinds: Collection[Kind]) -> dict[Kind, str]:
    people = {kind: case.ticket_key for kind in kinds if kind.group is Group.PEOPLE}
    own = {
        Kind.STALE_METRIC: case.rate.metric_id,
        Kind.FAILED_PIPELINE: case.rate.source_id,
        Kind.CONFLICTING_SOURCES: METRIC_KEY,
        Kind.SUPERSEDED_POLICY: case.policy_id,
        Kind.APPROVER_OUT_OF_OFFICE: Role.CTO.value,
    }
    return dict.fromkeys(kinds, case.ticket_key) | people | own | chain.dead_ends


SCENARIO = BugEscalation()


TEAM = "platform"


def ticket_plan(world: World, failure: Failure) -> EntryPlan:
    """Return how the ticket looks; it is open as long as nobody has decided."""
    words = texts()
    named = [failure.service, *([failure.other] if failure.other else [])]

    def fill(stream: Stream, text: str) -> str:
        return text.format(
            service=failure.service,
            services=" and ".join(f'"{name}"' for name in stream.shuffled(named)),
            person=stream.choice(world.staff.active()).name,
        )

    def describe(stream: Stream) -> str:
        return fill(stream, stream.choice(words["citations"]["chain" if failure.other else "plain"]))

    symptoms = [symptom.format(service=failure.service) for symptom in words["symptoms"]]
    return EntryPlan(
        team_id=TEAM,
        titles=[title.format(symptom=symptom) for title in words["titles"] for symptom in symptoms],
        describe=describe,
        fill=fill,
        words=words,
        double_texts=words["citations"]["plain"],
        tags=["bug", "production"],
        double_tags=["bug"],
        type="bug",
        statuses=("open",),
    )


def add_approval_type(world: World, failure: Failure, policy: PolicyRow, rate: Reading) -> None:
    """Add the approval type."""
    specs = [
        field_spec("service", "text", "The service that is escalated."),
        field_spec(METRIC_KEY, "number", "Its error rate in percent, by the authoritative source."),
        FieldSpecRow(
            name="measured_at",
            type="datetime",
            required=True,
            description="When the rate was true.",
            max_age_minutes=int(rate.max_age.total_seconds()) // 60,
        ),
    ]
    if failure.variant is Variant.RUNBOOK:
        specs.append(field_spec("runbook_id", "text", "Id of the service's runbook."))
    put_type(
        world,
        ApprovalTypeRow(
            key=TYPE_KEY,
            title="Escalation of a bug",
            description="Engineers drop other work for a bug. The subject is the ticket's key.",
            policy_ref=policy.policy_id,
            fields=specs,
            amount_field=None,
            thresholds=[ThresholdRow(up_to_cents=None, role=Role.CTO.value)],
            expires_after_minutes=EXPIRES_AFTER_MINUTES,
        ),
    )


def add_cto(world: World, stream: Stream, kinds: Collection[Kind]) -> Chain:
    """Add who stands in for the CTO."""
    deciding = Deciding(
        type_key=TYPE_KEY,
        role=Role.CTO,
        holder_ids=[world.staff.holders(Role.CTO)[0].id],
        amount_cents=0,
        bench=leads_and_finance(world),
        other_types=["access_grant", "purchase_order"],
    )
    return add_chain(world, stream, deciding, kinds)
