"""Project selection: the best valid selection is recorded and its total approved from the budget line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import partial

from companyos_gateway.scenarios import kit
from companyos_gateway.scenarios.project_selection.proposals import (
    COST_STEP_CENTS,
    Proposal,
    Rules,
    Variant,
    best_selection,
    draw_proposals,
)

TYPE_KEY, KIND = "project_selection", "proposal"
SELECTED, NOT_SELECTED = "selected", "not_selected"
LIMIT_PERCENT = (60, 160)
"""Range of the finance controllers' limit in percent of the total; the CFO decides above it."""

PRIORITY_STEP_CENTS, OTHER_PROPOSALS = 50_000, 2


class RefusalGround(StrEnum):
    """Ground for refusing a round; the value is the policy's reason code."""

    TOO_FEW = "requirement_not_met"
    FROZEN = "policy_violation"
    NOT_THE_OWNER = "not_entitled"


@dataclass(frozen=True, kw_only=True)
class Round:
    """Proposals that compete for a budget line, the rules in force and those of other versions of the policy."""

    variant: Variant
    ground: RefusalGround | None
    line: kit.RecordRow
    lookalike: kit.RecordRow | None
    proposals: tuple[Proposal, ...]
    rules: Rules
    other_rules: Rules
    best: frozenset[str]
    reporter_id: str
    limit_cents: int

    @property
    def total_cents(self) -> int:
        """The cost of the best selection."""
        return sum(one.cost_cents for one in self.proposals if one.id in self.best)

    @property
    def eligible(self) -> int:
        """The number of proposals with a sufficient review score."""
        return sum(one.score >= self.rules.least_score for one in self.proposals)

    def find_breach(self, selected: frozenset[str]) -> str | None:
        """Return the rule that a selection breaks, in words; None if it is valid."""
        return self.rules.find_breach([one for one in self.proposals if one.id in selected])


class ProjectSelection(kit.DeclaredScenario[Round]):
    """Select projects for a budget: record the best valid selection and get its total approved."""

    name, team, topic, max_steps = "project_selection", kit.FINANCE, "project funding", 150
    tags, duplicate_tags, precise_citation = ("projects", "funding"), ("projects",), "title"
    has_best_answer = True
    held_out = frozenset({Variant.TEAMS_AND_DEPENDENCIES.value})
    always = (kit.Kind.MISSING_PRIORITY, kit.Kind.APPROVER_OUT_OF_OFFICE)
    applicable = kit.buildable_kinds(exclude=(*kit.METRIC_KINDS, kit.Kind.EXPIRED_CERTIFICATE))
    distractors = (
        "datahub_report_data_issue",
        "ticketdesk_create_ticket",
        "ticketdesk_link_tickets",
        "approvalflow_create_delegation",
        "approvalflow_escalate_approval",
    )

    def draw(self, build: kit.BuildContext) -> Round:
        """Add the line, its proposals, a draft and proposals for another line."""
        stream, staff = build.stream, build.world.staff
        ground, variant = build.draw_ground(RefusalGround), stream.choice(list(Variant))
        people = [one for one in staff.active() if one.team_id not in (kit.FINANCE, kit.EXECUTIVE)]
        team_ids = sorted({one.team_id for one in people})
        drawn, rules, other_rules = draw_proposals(stream.child("proposals"), variant, team_ids)
        owner_id, unrelated_person_id = stream.sample([one.id for one in people], 2)
        purpose, other_purpose = stream.sample(self.texts()["purposes"], 2)
        is_frozen = ground is RefusalGround.FROZEN
        state = "frozen" if is_frozen else "active"
        file_line = partial(build.file_budget_line, days=(20, 60), free_cents=rules.available_cents)
        line = file_line(purpose, state=state, owner_id=owner_id)
        other_line = file_line(other_purpose, state="active", owner_id=unrelated_person_id)
        lookalike = build.copy_budget_line(line)
        proposals = self._file_proposals(build, line, drawn)
        self._file_others(build, lookalike or other_line, line, proposals)
        best = best_selection(proposals, rules)
        assert best is not None, "the drawn proposals have one best selection"
        total = sum(one.cost_cents for one in proposals if one.id in best)
        return Round(
            variant=variant,
            ground=ground,
            line=line,
            lookalike=lookalike,
            proposals=proposals,
            rules=rules,
            other_rules=other_rules,
            best=best,
            reporter_id=unrelated_person_id if ground is RefusalGround.NOT_THE_OWNER else owner_id,
            limit_cents=total * stream.integer(*LIMIT_PERCENT) // 100 // COST_STEP_CENTS * COST_STEP_CENTS,
        )

    def slots(self, facts: Round) -> Mapping[str, str]:
        """Return the line and the proposals."""
        named = {"line": facts.line.id, "line_title": facts.line.title, "title": facts.line.title}
        proposals = {f"proposal_{number}": one.id for number, one in enumerate(facts.proposals, 1)}
        return {**named, "center": facts.line.fields["cost_center"], **proposals}

    def answers(self, build: kit.BuildContext, facts: Round) -> Mapping[str, kit.AcceptedValue]:
        """Return the cost center and the budget of the line."""
        budget_cents = facts.line.fields["budget_cents"]
        amounts = {"budget_cents": budget_cents, "budget": f"{budget_cents / 100:.2f}"}
        return {"center": facts.line.fields["cost_center"], **amounts}

    def reporter_id(self, facts: Round) -> str:
        """Return the person who started the round: the owner of the line, or someone who is not entitled to."""
        return facts.reporter_id

    def figures(self, facts: Round, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw the limits of priorities and the minimum of proposals; other versions lead to another selection."""
        rules = facts.rules if in_force else facts.other_rules
        is_short = in_force and facts.ground is RefusalGround.TOO_FEW
        least = facts.eligible + stream.integer(1, 2) if is_short else stream.integer(2, facts.eligible)
        figures = asdict(rules)
        available_cents = figures.pop("available_cents")
        limits = kit.priority_limits(stream, available_cents, priority, step=PRIORITY_STEP_CENTS)
        return {**limits, **figures, "least_proposals": least}

    def thresholds(self, facts: Round, stream: kit.Stream, request: kit.Request) -> kit.Thresholds:
        """Return the limit of finance controllers; the CFO decides above it."""
        return [(facts.limit_cents, kit.Role.FINANCE_CONTROLLER), (None, kit.Role.CFO)]

    def solution(self, facts: Round, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Record the best selection and have its total approved, or refuse."""
        line, total = facts.line, facts.total_cents
        ids = tuple(one.id for one in facts.proposals)
        states = {one: SELECTED if one in facts.best else NOT_SELECTED for one in ids}
        best = [kit.RecordGoal(record_id=one, state=state) for one, state in states.items()]
        selection = kit.ValidSelection(ids, SELECTED, facts.find_breach)
        request = kit.Request(
            type_key=TYPE_KEY,
            subject=line.id,
            role=kit.Role.FINANCE_CONTROLLER if total <= facts.limit_cents else kit.Role.CFO,
            amount_cents=total,
            fields=kit.request_fields(
                budget_line_id=line.id,
                amount_cents=kit.SelectionSum(selection, "cost_cents"),
                projects=kit.SelectionSum(selection),
            ),
        )
        against_ids: dict[RefusalGround | None, tuple[str, ...]] = {
            RefusalGround.FROZEN: (line.id,),
            RefusalGround.NOT_THE_OWNER: (facts.reporter_id,),
        }
        is_short = facts.ground is RefusalGround.TOO_FEW
        column = "state" if facts.ground is RefusalGround.FROZEN else "owner_id"
        outcome = kit.Outcome(
            requests=(request,),
            prepared=(
                kit.EntityGoals("best_selection", best, pays=False),
                kit.EntityGoals("valid_selection", [selection], pays=False),
            ),
            goals=(kit.RecordGoal(record_id=line.id, reference_field="approval_ref"),),
            facts=tuple(map(kit.record_shown, ids)) if is_short else (kit.record_shown(line.id, column),),
            subjects=(line.id, *ids),
        )
        if facts.ground is not None:
            outcome = replace(outcome, prepared=())
        return kit.Solution(
            variant=facts.variant,
            outcome=outcome,
            refusal=kit.refusal_for(facts.ground, policy, *against_ids.get(facts.ground, ())),
            affected={kit.Kind.SIMILAR_NAMES: (facts.lookalike or line).id},
        )

    def _file_proposals(
        self, build: kit.BuildContext, line: kit.RecordRow, drawn: list[Proposal]
    ) -> tuple[Proposal, ...]:
        """File the drawn proposals for the line, in any order, and return them with their ids."""
        stream = build.stream
        titles = {category: stream.shuffled(ones) for category, ones in self.texts()["projects"].items()}
        named = {one: titles[one.category].pop() for one in stream.shuffled(drawn)}
        file = partial(_file_proposal, build, line)
        rows = {one.id: file(one, title, state="submitted") for one, title in named.items()}
        for one in drawn:
            if one.depends_on is not None:
                rows[one.id].fields = {**rows[one.id].fields, "depends_on": rows[one.depends_on].id}
        return tuple(
            replace(one, id=rows[one.id].id, depends_on=None if one.depends_on is None else rows[one.depends_on].id)
            for one in named
        )

    def _file_others(
        self, build: kit.BuildContext, other_line: kit.RecordRow, line: kit.RecordRow, taken: tuple[Proposal, ...]
    ) -> None:
        """File a draft for the line, and good and cheap proposals for another one."""
        stream = build.stream
        titles = [(title, category) for category, ones in self.texts()["other_projects"].items() for title in ones]
        low, high = min(one.cost_cents for one in taken), max(one.cost_cents for one in taken)
        draft, *others = stream.sample(titles, 1 + OTHER_PROPOSALS)
        for title, category in (draft, *others):
            one = replace(
                stream.choice(taken),
                cost_cents=kit.rounded_amount(stream, low, (low + high) // 2),
                score=stream.integer(75, 98),
                category=category,
            )
            is_draft = (title, category) == draft
            _file_proposal(
                build, line if is_draft else other_line, one, title, state="draft" if is_draft else "submitted"
            )


def _file_proposal(
    build: kit.BuildContext, line: kit.RecordRow, proposal: Proposal, title: str, *, state: str
) -> kit.RecordRow:
    fields = {
        "budget_line_id": line.id,
        "cost_cents": proposal.cost_cents,
        "review_score": proposal.score,
        "category": proposal.category,
        "team_id": proposal.team_id,
    }
    owner = build.stream.choice(build.world.staff.active(proposal.team_id))
    day = build.working_day_ago(6, 18)
    return build.file_record(KIND, title=title, state=state, day=day, owner_id=owner.id, fields=fields)


SCENARIO = ProjectSelection()
