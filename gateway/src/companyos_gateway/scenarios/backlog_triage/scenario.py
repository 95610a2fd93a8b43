"""Sweeps of a backlog: every ticket with a tag is triaged by the policy, and no other ticket changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from companyos_gateway.scenarios import kit
from companyos_gateway.scenarios.backlog_triage.documents import (
    RAISED_FROM,
    TAG,
    TYPES,
    RefusalGround,
    Sweep,
    Variant,
    add_sweep,
    goals_of,
    shift_scale,
)

TEAMS = ("workplace", "platform", "data", "vendor-operations")


class BacklogTriage(kit.DeclaredScenario[Sweep]):
    """Triage all tickets with a tag by the policy: set priorities and assignees, and cancel duplicates."""

    name, topic, max_steps = "backlog_triage", "triage", 200
    tags, duplicate_tags = (TAG, "sweep"), (TAG,)
    held_out = frozenset({Variant.LEAD.value})
    fits_shifts = False
    always = (kit.Kind.MISSING_PRIORITY, kit.Kind.DUPLICATE_TICKET)
    applicable = kit.buildable_kinds(
        exclude=(
            *kit.METRIC_KINDS,
            kit.Kind.EXPIRED_CERTIFICATE,
            *(kind for kind in kit.Kind if kind.group is kit.Group.PEOPLE),
        )
    )
    distractors = (
        "ticketdesk_create_ticket",
        "datahub_update_record",
        "datahub_report_data_issue",
        "approvalflow_list_approval_types",
        "approvalflow_submit_approval",
    )
    tools = (
        *kit.TICKET_TOOLS,
        "ticketdesk_link_tickets",
        "datahub_search_records",
        "datahub_get_record",
        *kit.PEOPLE_TOOLS,
        *kit.POLICY_TOOLS,
    )

    def draw(self, build: kit.BuildContext) -> Sweep:
        """Let the agent act as a member of a team, and add the tickets that the team has to sweep."""
        world, stream = build.world, build.stream
        team_id = stream.choice(TEAMS)
        kit.set_agent(world, stream.child("agent"), team_id)
        return add_sweep(build, self.texts(), team_id)

    def slots(self, facts: Sweep) -> Mapping[str, str]:
        """Return the tag, a ticket that has it, and the reporter."""
        return {
            "tag": facts.tag,
            "tagged": facts.in_scope[0].ticket.key,
            "reporter_id": facts.ordered_by,
        }

    def reporter_id(self, facts: Sweep) -> str:
        """Return the person who ordered the sweep."""
        return facts.ordered_by

    def figures(self, facts: Sweep, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw the minimum number of tickets; another version ranks types differently and leads to another decision."""
        count, is_few = len(facts.in_scope), facts.ground is RefusalGround.TOO_FEW
        scale, most_each = facts.scale, facts.most_each
        if not in_force:
            scale = shift_scale(scale) | {"raise_from_people": stream.choice(RAISED_FROM)}
            most_each = most_each and most_each + stream.integer(1, 3)
        least_range = (count + 1, count + 4) if is_few == in_force else (max(2, count - 3), count)
        spread = {"most_each": most_each} if most_each else {}
        return {**scale, "least_tickets": stream.integer(*least_range), **spread}

    def priority(self, facts: Sweep, figures: kit.Figures, drawn: kit.Priority) -> kit.Priority:
        """Return the priority of the most urgent ticket of the sweep."""
        return max((item.level(figures) for item in facts.kept), key=kit.PRIORITIES.index)

    def policy_body(self, facts: Sweep, figures: kit.Figures) -> str:
        """Return the policy with its priorities by type and its paragraph on assignees."""
        words = self.texts()["policy"]
        priorities = {f"{'an' if one[0] in 'aeiou' else 'a'} {one}": figures[f"{one}_priority"] for one in TYPES}
        clauses = kit.priority_clauses(priorities, "{priority} for {names}")
        body = str(words["body"]).replace("BY_TYPE", clauses)
        return body.replace("ASSIGN", words[facts.variant.value])

    def complete(self, build: kit.BuildContext, facts: Sweep, policy: kit.PolicyRow, slot: kit.KeySlot) -> Sweep:
        """Add the goals of the tickets, which depend on the policy and on absences."""
        return replace(facts, goals=goals_of(build.world, facts, policy.parameters))

    def solution(self, facts: Sweep, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Triage the originals and merge their duplicates, or refuse and change nothing."""
        against_ids: dict[RefusalGround | None, tuple[str, ...]] = {
            RefusalGround.NOT_ORDERED: (facts.ordered_by,),
            RefusalGround.TWICE: (facts.other_key,),
        }
        refusal = kit.refusal_for(facts.ground, policy, *against_ids.get(facts.ground, ()))
        if facts.ground is None:
            kept = [goal for goal in facts.goals if goal.original is None]
            merged = [goal for goal in facts.goals if goal.original is not None]
            outcome = kit.Outcome(
                prepared=(kit.EntityGoals("tickets_triaged", kept), kit.EntityGoals("duplicates_merged", merged))
            )
        else:
            outcome = kit.Outcome(facts=_deciding_facts(facts, facts.ground))
        affected = {kit.Kind.SIMILAR_NAMES: facts.lookalike.ticket.key} if facts.lookalike else None
        return kit.Solution(variant=facts.variant, outcome=outcome, refusal=refusal, affected=affected)

    def case_rubric(self, case: kit.ScenarioCase, company: kit.Company) -> kit.TicketRubric:
        """Return the rubric of the outcome, with a check on the spread of tickets if the policy requires it."""
        if case.must_refuse:
            return super().case_rubric(case, company)
        return _SpreadWork(self.redeclared(case), company)


class _SpreadWork(kit.CompletedOutcome):
    """Rubric of triaged tickets, of which no one may have more than the policy allows."""

    def __init__(self, case: kit.ScenarioCase, company: kit.Company) -> None:
        super().__init__(case, company)
        self.sweep: Sweep = case.facts

    def scenario_checks(self) -> Iterable[kit.Check]:
        """Return the checks on the tickets, and on the number of tickets of each person."""
        yield from super().scenario_checks()
        if self.sweep.most_each is not None:
            yield kit.Check("work_is_spread", True, self.find_overload)

    def find_unfinished_work(self, evidence: kit.Evidence, step: int) -> list[str]:
        """Return the tickets that were not triaged by a step, and whether the work was not spread."""
        overload = self.find_overload(evidence, step)
        return [*super().find_unfinished_work(evidence, step), *(["spread of the work"] if overload else [])]

    def find_overload(self, evidence: kit.Evidence, step: int | None = None) -> kit.Mismatch | None:
        """Return a mismatch for the person with more of the original tickets than the policy allows, if any."""
        most = self.sweep.most_each
        kept = [goal for goal in self.sweep.goals if goal.original is None]
        held = Counter(goal.ticket(evidence, step).assignee_id for goal in kept)
        del held[None]
        for person_id, count in held.most_common(1):
            if most is not None and count > most:
                path = kit.row_path(kit.row_views.DATAHUB, "people", str(person_id))
                return kit.Mismatch(path, f"assigned to at most {most} of the tickets", f"assigned to {count}")
        return None


def _deciding_facts(sweep: Sweep, ground: RefusalGround) -> tuple[kit.Fact, ...]:
    if ground is RefusalGround.TWICE:
        return (kit.ticket_status_shown(sweep.other_key),)
    if ground is RefusalGround.TOO_FEW:
        return tuple(kit.ticket_status_shown(item.ticket.key) for item in sweep.in_scope)
    return (kit.outsider_shown(sweep.ordered_by, {sweep.lead_id}, kit.Role.TEAM_LEAD),)


SCENARIO = BacklogTriage()
