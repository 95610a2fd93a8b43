"""Offboardings: tickets, requests, delegations and access of a leaver are handed over or ended, and no others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from companyos_gateway.scenarios import kit
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

LEAD_FROM: tuple[kit.Priority, ...] = ("medium", "high")
"""Priorities from which on the policy may assign tickets to the lead."""


class EmployeeOffboarding(kit.DeclaredScenario[Leaver]):
    """Offboard an employee: reassign tickets, cancel or escalate requests, and revoke delegations and access."""

    name, team, topic, max_steps = "employee_offboarding", "people", "offboarding", 160
    tags, duplicate_tags = ("offboarding",), ("offboarding", "leaver")
    held_out = frozenset({Variant.EVERYTHING.value})
    always = (kit.Kind.MISSING_PRIORITY, kit.Kind.APPROVER_OUT_OF_OFFICE)
    opt_in_kinds = frozenset[kit.Kind]()
    applicable = kit.buildable_kinds(exclude=(*kit.METRIC_KINDS, *kit.DECISION_KINDS, kit.Kind.EXPIRED_CERTIFICATE))
    distractors = (*kit.USUAL_DISTRACTORS, "approvalflow_submit_approval")
    tools = (
        *kit.TICKET_TOOLS,
        *kit.RECORD_TOOLS,
        *kit.PEOPLE_TOOLS,
        *kit.POLICY_TOOLS,
        *kit.APPROVAL_READ_TOOLS,
        "approvalflow_cancel_approval",
        "approvalflow_escalate_approval",
        "approvalflow_revoke_delegation",
    )

    def draw(self, build: kit.BuildContext) -> Leaver:
        """Draw the leaver and add their access grants."""
        return add_leaver(build)

    def slots(self, facts: Leaver) -> Mapping[str, str]:
        """Return the leaver with an access grant, their team with its lead, and a colleague."""
        person = facts.person
        named = {"name": person.name, "person_id": person.id}
        return (
            named
            | {"team": facts.team_name, "colleague": facts.informant}
            | {"grant": facts.grants[ADMIN].id, "lead_id": facts.lead_id}
        )

    def figures(self, facts: Leaver, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw the limits of priorities; another version treats write access differently."""
        days = facts.tenure_days
        return {
            "lead_from_priority": stream.choice(LEAD_FROM),
            "revoked_levels": ", ".join((ADMIN, WRITE) if facts.is_write_revoked == in_force else (ADMIN,)),
            **kit.priority_limits(stream, days, priority, step=kit.limit_step(days), unit="_days"),
        }

    def exclusive_people(self, facts: Leaver) -> frozenset[str]:
        """Return the leaver."""
        return frozenset({facts.person.id})

    def needed_people(self, facts: Leaver) -> frozenset[str]:
        """Return the people who may take over tickets: the lead and members of the team."""
        return frozenset({facts.lead_id, *facts.colleague_ids})

    def complete(self, build: kit.BuildContext, facts: Leaver, policy: kit.PolicyRow, slot: kit.KeySlot) -> Leaver:
        """Add the approvers who replace the leaver, the leaver's duties, a legal hold and an exit record."""
        world = build.world
        excluded_ids = {facts.person.id, facts.lead_id}
        chain = kit.add_escalation_approvers(
            build,
            SUBJECT.type_key,
            facts.role,
            amount_cents=max(facts.amounts),
            excluded_ids=excluded_ids,
        )
        duties = add_duties(build.child("duties"), facts, self.texts(), chain.approver_ids)
        colleague_id = next(one for one in facts.colleague_ids if not world.staff.person(one).roles)
        for person_id in (facts.lead_id, colleague_id):
            world.remove_absences(person_id)  # so that tickets can be handed over whenever they are due
        document_id = self._add_documents(build.child("documents"), facts)
        return replace(facts, duties=duties, chain=chain, document_id=document_id)

    def solution(self, facts: Leaver, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Hand over or end everything that the leaver has, or refuse and change nothing."""
        person_id, role, document_id = facts.person.id, facts.role, facts.document_id
        employment = kit.shown(kit.row_views.DATAHUB, "people", person_id, "employed_to")
        reason_id = document_id or person_id
        refused = kit.Outcome(
            facts=(kit.record_found(document_id, person_id) if document_id else employment,),
            subjects=(person_id, reason_id),
        )
        return kit.Solution(
            variant=facts.variant,
            outcome=refused if facts.ground else _done(facts, policy),
            refusal=kit.refusal_for(facts.ground, policy, reason_id),
            approver_ids=facts.chain.approver_ids,
            affected=kit.affected_people(facts.chain, role.value, role.value) | {kit.Kind.SIMILAR_NAMES: person_id},
        )

    def _add_documents(self, build: kit.BuildContext, facts: Leaver) -> str | None:
        """Add a legal hold and an exit record; return the ID of the one that is a ground for refusal, if any."""
        stream, words, person_id = build.stream, self.texts()["papers"], facts.person.id
        others = [one.id for one in build.world.staff.people if one.id != person_id and not one.roles]
        is_held, is_done = facts.ground is RefusalGround.HELD, facts.ground is RefusalGround.DONE_BEFORE
        is_over = stream.chance(0.5) and not is_held
        held_id = person_id if is_held or is_over else stream.choice(others)
        state = "archived" if is_over else "published"
        hold = kit.file_recent_document(build, "legal_hold", words["hold"], {"person_id": held_id}, state=state)
        fields, state = {"person_id": person_id}, "published" if is_done else "draft"
        left = kit.file_recent_document(
            build, "exit_record", words["exit_record"], fields, state=state, team_id="people"
        )
        return hold.id if is_held else left.id if is_done else None


def _done(facts: Leaver, policy: kit.PolicyRow) -> kit.Outcome:
    """Return the outcome of a completed offboarding."""
    duties, who = facts.duties, (facts.person.id,)
    withdrawn = kit.Refusal("withdrawn", who)
    lead_from = kit.PRIORITIES.index(policy.parameters["lead_from_priority"])
    revoked_levels = policy.parameters["revoked_levels"].split(", ")

    def handed_over(ticket: kit.TicketRow) -> kit.TicketGoal:
        goes_to_lead = ticket.priority is not None and kit.PRIORITIES.index(ticket.priority) >= lead_from
        taker_ids = (facts.lead_id,) if goes_to_lead else facts.colleague_ids
        return kit.TicketGoal(key=ticket.key, status=str(ticket.status), assignee_ids=taker_ids)

    def access_ended(level: str, grant: kit.RecordRow) -> kit.RecordGoal:
        if level in revoked_levels:
            return kit.RecordGoal(record_id=grant.id, state="revoked")
        return kit.RecordGoal(record_id=grant.id, ends_on=facts.last_day.isoformat())

    return kit.Outcome(
        prepared=(
            kit.EntityGoals("tickets_handed_over", [handed_over(one) for one in duties.tickets]),
            kit.EntityGoals("requests_cancelled", [kit.RequestCancelled(one.id, withdrawn) for one in duties.own]),
            kit.EntityGoals("delegations_revoked", [kit.DelegationRevoked(one.id) for one in duties.delegations]),
            kit.EntityGoals("access_ended", [access_ended(*one) for one in facts.grants.items()]),
        ),
        escalated=tuple(
            kit.Escalation(
                request_id=row.id,
                type_key=row.type_key,
                role=facts.role,
                amount_cents=int(row.fields["amount_cents"]),
                excluded_ids=frozenset(who),
                references=who,
            )
            for row in duties.waiting
        ),
        subjects=who,
    )


SCENARIO = EmployeeOffboarding()
