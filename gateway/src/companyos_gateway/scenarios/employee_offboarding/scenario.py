"""Offboardings: tickets, requests, delegations and access of a leaver come to their ends, and no others."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from companyos_gateway.chaos import Kind
from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.evaluation.entity_goals import (
    DelegationRevoked,
    EntityGoals,
    RecordInState,
    RequestCancelled,
    TicketInState,
)
from companyos_gateway.evaluation.facts import record_shown, shown
from companyos_gateway.evaluation.goals import RecordGoal
from companyos_gateway.evaluation.outcome import Escalation, Outcome
from companyos_gateway.evaluation.ticket_goals import TicketGoal
from companyos_gateway.scenarios.blocks.approvers import (
    DecisionSpec,
    add_approver_chain,
    leads_and_finance,
    struck_people,
)
from companyos_gateway.scenarios.blocks.declared_scenario import DeclaredScenario, Solution
from companyos_gateway.scenarios.blocks.documents import add_document
from companyos_gateway.scenarios.blocks.policy_versions import PRIORITIES, PolicyParameters, draw_priority_limits
from companyos_gateway.scenarios.blocks.ticket_scenario import DECISION_KINDS, METRIC_KINDS, buildable_kinds
from companyos_gateway.scenarios.blocks.tools import PEOPLE_TOOLS, POLICY_TOOLS, RECORD_TOOLS, TICKET_TOOLS
from companyos_gateway.scenarios.employee_offboarding.documents import (
    ADMIN,
    SUBJECT,
    WRITE,
    Leaver,
    RefusalGround,
    Variant,
    add_duties,
    add_leaver,
)
from companyos_gateway.world.builder import KeySlot, WorldBuilder
from companyos_gateway.world.seed_documents.datahub import PolicyRow, RecordRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority, TicketRow
from companyos_shared.streams import Stream

PRIORITY_STEP_DAYS = 10


class EmployeeOffboarding(DeclaredScenario[Leaver]):
    """Offboard a leaver by the policy: hand over tickets and decisions, take back requests, authority and access."""

    name, team, topic, max_steps = "employee_offboarding", "people", "offboarding", 160
    tags, duplicate_tags = ("offboarding",), ("offboarding", "leaver")
    held_out = frozenset({Variant.EVERYTHING.value})
    always = (Kind.MISSING_PRIORITY, Kind.APPROVER_OUT_OF_OFFICE)
    opt_in_kinds = frozenset[Kind]()
    applicable = buildable_kinds(exclude=(*METRIC_KINDS, *DECISION_KINDS, Kind.EXPIRED_CERTIFICATE))
    distractors = (
        "ticketdesk_create_ticket",
        "datahub_report_data_issue",
        "approvalflow_submit_approval",
        "approvalflow_create_delegation",
        "approvalflow_withdraw_approval",
    )
    tools = (
        *TICKET_TOOLS,
        *RECORD_TOOLS,
        *PEOPLE_TOOLS,
        *POLICY_TOOLS,
        "approvalflow_get_approval_type",
        "approvalflow_list_delegations",
        "approvalflow_get_approval",
        "approvalflow_list_approvals",
        "approvalflow_cancel_approval",
        "approvalflow_escalate_approval",
        "approvalflow_revoke_delegation",
        *distractors,
    )

    def draw(self, world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> Leaver:
        """Let somebody leave, with their access grants."""
        return add_leaver(world, stream, kinds, must_refuse=must_refuse)

    def slots(self, facts: Leaver) -> Mapping[str, str]:
        """Name the leaver, their team and a colleague."""
        person = facts.person
        return {
            "name": person.name,
            "person_id": person.id,
            "team": facts.team_name,
            "colleague": facts.informant,
        }

    def figures(self, facts: Leaver, stream: Stream, priority: Priority, *, in_force: bool) -> PolicyParameters:
        """Draw the limits of priorities; another version treats grants to write otherwise."""
        medium, high, critical = draw_priority_limits(stream, facts.tenure_days, priority, step=PRIORITY_STEP_DAYS)
        return {
            "lead_from_priority": stream.choice(PRIORITIES[1:]),
            "revoked_levels": ", ".join((ADMIN, WRITE) if facts.is_write_revoked == in_force else (ADMIN,)),
            "medium_from_days": medium,
            "high_from_days": high,
            "critical_from_days": critical,
        }

    def complete(
        self,
        world: WorldBuilder,
        stream: Stream,
        facts: Leaver,
        policy: PolicyRow,
        slot: KeySlot,
        kinds: Collection[Kind],
    ) -> Leaver:
        """Add who decides instead of the leaver, the leaver's duties, a legal hold and an exit record."""
        spec = DecisionSpec(
            type_key=SUBJECT.type_key,
            role=facts.role,
            holder_ids=[world.staff.holders(facts.role)[0].id],
            amount_cents=max(facts.amounts),
            deputy_candidates=leads_and_finance(world) - {facts.person.id, facts.lead_id},
            other_types=["access_grant", "document_publication"],
        )
        chain = add_approver_chain(world, stream.child("approvers"), spec, kinds)
        duties = add_duties(world, stream.child("duties"), facts, self.texts(), chain.approver_ids)
        colleague_id = next(one for one in facts.colleague_ids if not world.staff.person(one).roles)
        for person_id in (facts.lead_id, colleague_id):
            world.remove_absences(person_id)  # so that tickets can be handed over whenever they are due
        ground_id = self._add_documents(world, stream.child("documents"), facts)
        return replace(facts, duties=duties, chain=chain, ground_id=ground_id)

    def solution(self, facts: Leaver, policy: PolicyRow, ticket_key: str) -> Solution:
        """Hand over and end everything that the leaver has, or refuse and change nothing."""
        person_id, role, ground_id = facts.person.id, facts.role, facts.ground_id
        employment = shown(row_views.DATAHUB, "people", person_id, "employed_to")
        refused = Outcome(
            facts=(record_shown(ground_id) if ground_id else employment,),
            subjects=(person_id, ground_id) if ground_id else (person_id,),
        )
        return Solution(
            variant=facts.variant,
            outcome=refused if facts.ground else _done(facts, policy),
            refusal=Refusal(facts.ground.value, (ground_id or person_id,)) if facts.ground else None,
            approver_ids=facts.chain.approver_ids,
            struck=struck_people(facts.chain, role.value, role.value) | {Kind.SIMILAR_NAMES: person_id},
        )

    def _add_documents(self, world: WorldBuilder, stream: Stream, facts: Leaver) -> str | None:
        """Add a legal hold and an exit record; return the id of the one that speaks against the offboarding."""
        words, person_id = self.texts()["papers"], facts.person.id
        others = [one.id for one in world.staff.people if one.id != person_id and not one.roles]
        is_held, is_done = facts.ground is RefusalGround.HELD, facts.ground is RefusalGround.DONE_BEFORE
        is_over = stream.chance(0.5) and not is_held
        held_id = person_id if is_held or is_over else stream.choice(others)
        hold = add_document(
            world,
            stream,
            title=words["hold"],
            state="archived" if is_over else "published",
            fields={"document_type": "legal_hold", "person_id": held_id},
        )
        exit_record = add_document(
            world,
            stream,
            title=words["exit_record"],
            state="published" if is_done else "draft",
            fields={"document_type": "exit_record", "person_id": person_id},
            team_id="people",
        )
        if is_held:
            return hold.id
        return exit_record.id if is_done else None


def _done(facts: Leaver, policy: PolicyRow) -> Outcome:
    """Return the end of a completed offboarding."""
    duties, who = facts.duties, (facts.person.id,)
    lead_from = PRIORITIES.index(policy.parameters["lead_from_priority"])
    revoked_levels = policy.parameters["revoked_levels"].split(", ")

    def handed_over(ticket: TicketRow) -> TicketInState:
        goes_to_lead = ticket.priority is not None and PRIORITIES.index(ticket.priority) >= lead_from
        taker_ids = (facts.lead_id,) if goes_to_lead else facts.colleague_ids
        return TicketInState(TicketGoal(key=ticket.key, status=str(ticket.status), assignee_ids=taker_ids))

    def access_ended(level: str, grant: RecordRow) -> RecordInState:
        if level in revoked_levels:
            return RecordInState(RecordGoal(record_id=grant.id, state="revoked"))
        return RecordInState(RecordGoal(record_id=grant.id, ends_on=facts.last_day.isoformat()))

    return Outcome(
        prepared=(
            EntityGoals("tickets_handed_over", [handed_over(one) for one in duties.tickets]),
            EntityGoals(
                "requests_cancelled", [RequestCancelled(one.id, Refusal("withdrawn", who)) for one in duties.own]
            ),
            EntityGoals("delegations_revoked", [DelegationRevoked(one.id) for one in duties.delegations]),
            EntityGoals("access_ended", [access_ended(*one) for one in facts.grants.items()]),
        ),
        escalated=tuple(
            Escalation(
                request_id=row.id,
                type_key=row.type_key,
                role=facts.role,
                amount_cents=int(row.fields["amount_cents"]),
                barred_ids=frozenset(who),
                references=who,
            )
            for row in duties.waiting
        ),
        subjects=who,
    )


SCENARIO = EmployeeOffboarding()
