"""Sweeps of a backlog: every ticket under a tag is triaged by the policy, and no other one changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from companyos_gateway.chaos import Group, Kind
from companyos_gateway.evaluation import Check, Evidence, TaskRubric, row_views
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.evaluation.entity_goals import EntityGoals, TicketInState
from companyos_gateway.evaluation.facts import Fact, ticket_status_shown
from companyos_gateway.evaluation.mismatch import Mismatch, row_path
from companyos_gateway.evaluation.outcome import Outcome
from companyos_gateway.evaluation.outcome_rubric import CompletedWithoutApproval
from companyos_gateway.scenarios.backlog_triage.documents import (
    RAISED_FROM,
    TAG,
    TYPES,
    RefusalGround,
    Sweep,
    Variant,
    add_sweep,
    goals_of,
)
from companyos_gateway.scenarios.blocks.declared_scenario import (
    DeclaredScenario,
    ScenarioCase,
    Solution,
    policy_refs,
)
from companyos_gateway.scenarios.blocks.policy_versions import PRIORITIES, PolicyParameters, draw_other_priority
from companyos_gateway.scenarios.blocks.ticket_scenario import METRIC_KINDS, buildable_kinds, set_agent
from companyos_gateway.scenarios.blocks.tools import PEOPLE_TOOLS, POLICY_TOOLS, TICKET_TOOLS
from companyos_gateway.world.builder import KeySlot, WorldBuilder
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company, Role
from companyos_shared.wire.control import Change

TEAMS = ("workplace", "platform", "data", "vendor-operations")


class BacklogTriage(DeclaredScenario[Sweep]):
    """Sweep a backlog by the policy: triage, priorities, assignees and duplicates of all tickets under a tag."""

    name, topic, max_steps = "backlog_triage", "triage", 200
    tags, duplicate_tags = (TAG, "sweep"), (TAG,)
    held_out = frozenset({Variant.LEAD.value})
    always = (Kind.MISSING_PRIORITY, Kind.DUPLICATE_TICKET)
    applicable = buildable_kinds(
        exclude=(*METRIC_KINDS, Kind.EXPIRED_CERTIFICATE, *(kind for kind in Kind if kind.group is Group.PEOPLE))
    )
    distractors = (
        "ticketdesk_create_ticket",
        "datahub_update_record",
        "datahub_report_data_issue",
        "approvalflow_list_approval_types",
        "approvalflow_submit_approval",
    )
    tools = (
        *TICKET_TOOLS,
        "ticketdesk_link_tickets",
        "datahub_search_records",
        "datahub_get_record",
        *PEOPLE_TOOLS,
        *POLICY_TOOLS,
        *distractors,
    )

    def draw(self, world: WorldBuilder, stream: Stream, kinds: Collection[Kind], *, must_refuse: bool) -> Sweep:
        """Let the agent be somebody of a team, and add the tickets that the team has to sweep."""
        team_id = stream.choice(TEAMS)
        set_agent(world, stream.child("agent"), team_id)
        return add_sweep(world, stream, self.texts(), team_id, kinds, must_refuse=must_refuse)

    def slots(self, facts: Sweep) -> Mapping[str, str]:
        """Name the tag."""
        return {"tag": facts.tag}

    def duplicate_texts(self, facts: Sweep) -> list[str]:
        """Ask about the tickets, without ordering a sweep."""
        questions: list[str] = self.texts()["asks"]
        return questions

    def reporter_id(self, facts: Sweep) -> str:
        """Return who ordered the sweep."""
        return facts.ordered_by

    def figures(self, facts: Sweep, stream: Stream, priority: Priority, *, in_force: bool) -> PolicyParameters:
        """Draw the least number of tickets; another version ranks types differently and decides otherwise."""
        count, is_few = len(facts.in_scope), facts.ground is RefusalGround.TOO_FEW
        scale, most_each = facts.scale, facts.most_each
        if not in_force:
            levels = [f"{kind}_priority" for kind in TYPES]
            scale = {name: draw_other_priority(stream, facts.scale[name]) for name in levels}
            scale["raise_from_people"] = stream.integer(*RAISED_FROM)
            most_each = most_each and most_each + stream.integer(1, 3)
        least_range = (count + 1, count + 4) if is_few == in_force else (max(2, count - 3), count)
        spread = {"most_each": most_each} if most_each else {}
        return {**scale, "least_tickets": stream.integer(*least_range), **spread}

    def priority(self, facts: Sweep, figures: PolicyParameters, drawn: Priority) -> Priority:
        """Return the priority of the most urgent ticket of the sweep."""
        return max((item.level(figures) for item in facts.kept), key=PRIORITIES.index)

    def policy_body(self, facts: Sweep, figures: PolicyParameters) -> str:
        """Return the policy with the paragraph on assignees."""
        words = self.texts()["policy"]
        return str(words["body"]).replace("ASSIGN", words[facts.variant.value])

    def complete(
        self,
        world: WorldBuilder,
        stream: Stream,
        facts: Sweep,
        policy: PolicyRow,
        slot: KeySlot,
        kinds: Collection[Kind],
    ) -> Sweep:
        """Add the ends of the tickets, which depend on the policy and on absences."""
        return replace(facts, goals=goals_of(world, facts, policy.parameters))

    def solution(self, facts: Sweep, policy: PolicyRow, ticket_key: str) -> Solution:
        """Triage the tickets that stay and merge their duplicates, or refuse and change nothing."""
        lookalike, refusal = facts.lookalike, None
        if facts.ground is None:
            kept = [TicketInState(goal) for goal in facts.goals if goal.original is None]
            merged = [TicketInState(goal) for goal in facts.goals if goal.original is not None]
            outcome = Outcome(prepared=(EntityGoals("tickets_triaged", kept), EntityGoals("duplicates_merged", merged)))
        else:
            references = {
                RefusalGround.TOO_FEW: policy_refs(policy),
                RefusalGround.NOT_ORDERED: (facts.ordered_by,),
                RefusalGround.TWICE: (facts.other_key,),
            }
            outcome = Outcome(facts=_deciding_facts(facts, facts.ground))
            refusal = Refusal(facts.ground.value, references[facts.ground])
        struck = {Kind.SIMILAR_NAMES: lookalike.ticket.key} if lookalike else None
        return Solution(variant=facts.variant, outcome=outcome, refusal=refusal, struck=struck)

    def rubric(self, case: ScenarioCase, company: Company) -> TaskRubric:
        """Return the rubric of the outcome; where the policy spreads the tickets, with a check on that."""
        if case.must_refuse:
            return super().rubric(case, company)
        return _SpreadWork(self.redeclared(case), company).rubric()


class _SpreadWork(CompletedWithoutApproval):
    """The tickets are triaged, and nobody has more of them than the policy allows."""

    def __init__(self, case: ScenarioCase, company: Company) -> None:
        super().__init__(case, company)
        self.sweep: Sweep = case.facts

    def scenario_checks(self) -> Iterable[Check]:
        """Return the checks on the tickets, and on how many of them each person has."""
        yield from super().scenario_checks()
        if self.sweep.most_each is not None:
            yield Check("work_is_spread", True, self.find_overload)

    def find_unfinished_work(self, evidence: Evidence, step: int) -> list[str]:
        """Return the tickets that were not triaged once a step had been taken, and that they were not spread."""
        overload = self.find_overload(evidence, step)
        return [*super().find_unfinished_work(evidence, step), *(["spread of the work"] if overload else [])]

    def find_overload(self, evidence: Evidence, step: int | None = None) -> Mismatch | None:
        """Return who has more of the tickets that stay than the policy allows, None if nobody has."""
        most = self.sweep.most_each
        kept = [goal for goal in self.sweep.goals if goal.original is None]
        held = Counter(goal.ticket(evidence, step).assignee_id for goal in kept)
        del held[None]
        for person_id, count in held.most_common(1):
            if most is not None and count > most:
                path = row_path(row_views.DATAHUB, "people", str(person_id))
                return Mismatch(path, f"assigned to at most {most} of the tickets", f"assigned to {count}")
        return None


def _deciding_facts(sweep: Sweep, ground: RefusalGround) -> tuple[Fact, ...]:
    if ground is RefusalGround.TWICE:
        return (ticket_status_shown(sweep.other_key),)
    if ground is RefusalGround.TOO_FEW:
        return tuple(ticket_status_shown(item.ticket.key) for item in sweep.in_scope)

    def was_order_checked(evidence: Evidence, change: Change) -> bool:
        """Say whether the agent had been shown the position of who ordered the sweep, or all team leads."""
        are_leads_known = evidence.knew(Role.TEAM_LEAD, "holders", before=change.step)
        return are_leads_known or evidence.knew(sweep.ordered_by, "title", before=change.step)

    path = row_path(row_views.DATAHUB, "people", sweep.ordered_by)
    return (Fact(path, "title, or who the team leads are", was_order_checked),)


SCENARIO = BacklogTriage()
