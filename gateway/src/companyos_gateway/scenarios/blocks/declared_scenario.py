"""Declared scenarios: a scenario declares facts, policy figures and the solution; everything else is derived."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar

from companyos_gateway.chaos import FaultPlan, Group, Kind, Profile, profile_for
from companyos_gateway.chaos.drift import ALWAYS_RENAMED
from companyos_gateway.chaos.kinds import OPT_IN_KINDS, PERTURBATION_KINDS
from companyos_gateway.evaluation import TaskRubric
from companyos_gateway.evaluation.cases import MetricSpec
from companyos_gateway.evaluation.facts import policy_shown
from companyos_gateway.evaluation.outcome import (
    FieldValue,
    MetricTime,
    MetricValue,
    Outcome,
    RecordSum,
    Request,
    SelectionSum,
)
from companyos_gateway.evaluation.outcome_rubric import outcome_rubric
from companyos_gateway.evaluation.ticket_rubric import TicketRubric
from companyos_gateway.scenarios.api import Instance, Scenario
from companyos_gateway.scenarios.blocks.approvers import (
    ApproverChain,
    DecisionSpec,
    add_approver_chain,
    add_two_stage_approvers,
    affected_people,
    delegate_to_excluded,
    leads_and_finance,
    plan_reactions,
    replace_approval_type,
)
from companyos_gateway.scenarios.blocks.build_context import BuildContext
from companyos_gateway.scenarios.blocks.chaos_draws import draw_chaos, injections, transport_injections
from companyos_gateway.scenarios.blocks.checklist import BackingIds
from companyos_gateway.scenarios.blocks.metrics import affected_metric
from companyos_gateway.scenarios.blocks.perturbations import add_perturbations
from companyos_gateway.scenarios.blocks.policy_versions import (
    PRIORITIES,
    Figures,
    add_policy_versions,
    draw_other_priority,
)
from companyos_gateway.scenarios.blocks.prompt_injection import confidential_values
from companyos_gateway.scenarios.blocks.task import BegunTask, BuiltTask, RubricFactory, ScenarioCase, Solution
from companyos_gateway.scenarios.blocks.texts import draw_brief, load_texts
from companyos_gateway.scenarios.blocks.ticket import (
    DUE_IN_WORKING_DAYS,
    TaskTicket,
    TicketPlan,
    add_task_ticket,
    set_agent,
    take_key_slot,
)
from companyos_gateway.scenarios.blocks.tools import USUAL_TOOLS
from companyos_gateway.world import finish_world, generate_world
from companyos_gateway.world.absences import shorten_absences
from companyos_gateway.world.approvals import EXPIRES_AFTER_MINUTES, remove_requests
from companyos_gateway.world.builder import BaseCompany, KeySlot, WorldBuilder
from companyos_gateway.world.seed_documents.approvalflow import (
    ADMINISTERING_TEAMS,
    AcceptedValue,
    ApprovalTypeRow,
    FieldSpecRow,
    FieldType,
    ThresholdRow,
)
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority, Status
from companyos_shared.streams import Stream, digest
from companyos_shared.wire.company import Company, Role

OTHER_TYPES = ("contract_renewal", "purchase_order", "access_grant")
"""Types that a delegation may cover besides the task's own."""

Thresholds = Sequence[tuple[int | None, Role]]
"""Amounts in cents up to which each role decides, in ascending order; None means no limit."""

FactsT = TypeVar("FactsT")


class DeclaredScenario(ABC, Generic[FactsT]):
    """Base class of scenarios: a ticket that is processed under a policy, with up to two approvals.

    texts.toml contains `briefs`, `titles`, `citations` (ways in which the ticket names its subject), `checklists`,
    `blocker`, `double`, `decisions`, `policy` (`titles`, `body`) and `types`: title, description and fields of each
    approval type.
    """

    name: str
    base: BaseCompany | None = None
    """The other offices of a larger company; None for a small one."""
    team: ClassVar[str | None] = None
    """The team of the person whom the agent acts as; if None, the scenario chooses the person itself."""
    always: ClassVar[tuple[Kind, ...]]
    """Chaos kinds that apply to every instance from level 1 on."""
    applicable: ClassVar[tuple[Kind, ...]]
    """Chaos kinds that may apply."""
    max_steps: ClassVar[int]
    tools: ClassVar[tuple[str, ...]] = USUAL_TOOLS
    """Tools that a task may need."""
    distractors: ClassVar[tuple[str, ...]] = ()
    """Tools that no task needs; the seed draws which of them a task offers."""
    held_out: frozenset[str] = frozenset()
    """Variants that only tasks of the test split have."""
    excluded_perturbations: ClassVar[frozenset[Kind]] = frozenset()
    """Perturbations that do not apply to the scenario."""
    opt_in_kinds: ClassVar[frozenset[Kind]] = OPT_IN_KINDS
    """Opt-in kinds that apply to the scenario."""
    always_renamed: ClassVar[Mapping[str, str]] = ALWAYS_RENAMED
    """Field, by service, that is always among the renamed ones because every solution reads it."""
    topic: ClassVar[str]
    """The topic of the policy. The company's usual policy on it is replaced."""
    tags: ClassVar[Sequence[str]]
    duplicate_tags: ClassVar[Sequence[str]]
    precise_citation: ClassVar[str] = "name"
    """Key of the citations that remain unambiguous if another entity has a similar name."""
    ticket_type: ClassVar[str] = "task"
    ticket_statuses: ClassVar[Sequence[Status]] = ("open", "in_progress")
    due_in: ClassVar[tuple[int, int]] = DUE_IN_WORKING_DAYS
    end_status: ClassVar[str] = "resolved"
    fits_shifts: ClassVar[bool] = True
    """True if the scenario can be a case of a shift: it needs no answers in `finish` and does not choose the agent."""
    has_best_answer: ClassVar[bool] = False
    """True if a task that need not be refused has many valid ends, of which the policy requires the best one."""
    alternative_types: ClassVar[Mapping[str, Role]] = {}
    """Approval types of which a task needs one, with the roles that decide; the policy introduces all of them."""

    @abstractmethod
    def draw(self, build: BuildContext) -> FactsT:
        """Draw the subject of the ticket, add its records to the company, and return the facts."""

    @abstractmethod
    def figures(self, facts: FactsT, stream: Stream, priority: Priority, *, in_force: bool) -> Figures:
        """Draw the figures of a policy version under which the task has the priority.

        A version that is not in force leads to a different decision.
        """

    @abstractmethod
    def solution(self, facts: FactsT, policy: PolicyRow, ticket_key: str) -> Solution:
        """Return the correct end of the task. No other code defines it."""

    @abstractmethod
    def slots(self, facts: FactsT) -> Mapping[str, str]:
        """Return the values of the slots in texts about the subject, and IDs that checklist items name.

        Texts have the additional slot `person`: the name of a random employee.
        """

    def exclusive_people(self, facts: FactsT) -> frozenset[str]:
        """Return the people whom no other case of a shift may involve."""
        return frozenset()

    def needed_people(self, facts: FactsT) -> frozenset[str]:
        """Return the people whom other cases of a shift must not make absent, besides approvers and the assignee."""
        return frozenset()

    def answers(self, build: BuildContext, facts: FactsT) -> Mapping[str, AcceptedValue]:
        """Return the values of the slots in the answers that approvers accept."""
        return self.slots(facts)

    def citations(self, facts: FactsT) -> Mapping[str, list[str]]:
        """Return the sentences that name the subject, by the way in which they name it."""
        citations: Mapping[str, list[str]] = self.texts()["citations"]
        return citations

    def duplicate_texts(self, facts: FactsT) -> Sequence[str]:
        """Return the possible descriptions of another ticket about the same thing: `asks` of texts.toml, if any."""
        asks: list[str] | None = self.texts().get("asks")
        return asks or self.citations(facts)[self.precise_citation]

    def titles(self, facts: FactsT) -> list[str]:
        """Return the possible titles of the ticket."""
        return [title.format(**self.slots(facts)) for title in self.texts()["titles"]]

    def priority(self, facts: FactsT, figures: Figures, drawn: Priority) -> Priority:
        """Return the priority that the figures require. By default, it is the one for which they were drawn."""
        return drawn

    def policy_head(self, facts: FactsT) -> tuple[Sequence[str], str]:
        """Return the possible titles of the policy, and its topic."""
        return self.texts()["policy"]["titles"], self.topic

    def policy_body(self, facts: FactsT, figures: Figures) -> str:
        """Return the text of a policy version, with slots for its figures."""
        return str(self.texts()["policy"]["body"])

    def complete(self, build: BuildContext, facts: FactsT, policy: PolicyRow, slot: KeySlot) -> FactsT:
        """Add rows that depend on the policy or the ticket's key and day, such as metrics; return updated facts."""
        return facts

    def team_id(self, world: WorldBuilder) -> str:
        """Return the team of the ticket: the scenario's own, or that of the person whom the agent acts as."""
        return self.team or world.staff.person(world.agent_id).team_id

    def take_slot(self, build: BuildContext) -> KeySlot:
        """Take the key and creation time of the ticket."""
        return take_key_slot(build.world, build.stream, self.team_id(build.world))

    def reporter_id(self, facts: FactsT) -> str | None:
        """Return the ID of the person who opened the ticket; if None, the person is drawn."""
        return None

    def other_requests(self, request: Request) -> Sequence[Request]:
        """Return requests of further types that the policy introduces and this task does not need."""
        others = {key: role for key, role in self.alternative_types.items() if key != request.type_key}
        return [replace(request, type_key=key, role=role) for key, role in others.items()]

    def thresholds(self, facts: FactsT, stream: Stream, request: Request) -> Thresholds:
        """Return the roles that decide, by amount. By default, the role of the request decides about all amounts."""
        return [(None, request.role)]

    def deputies(self, build: BuildContext, facts: FactsT, request: Request) -> set[str]:
        """Return the people who may stand in for an approver, at least five."""
        return leads_and_finance(build.world)

    def add_events(self, build: BuildContext, facts: FactsT, ticket: TaskTicket) -> None:
        """Add comments on the ticket, scheduled events and further delegations."""

    def texts(self) -> dict[str, Any]:
        """Return the contents of texts.toml in the folder of the scenario's module."""
        return load_texts(inspect.getfile(type(self)))

    def build(self, seed: int, profile: Profile, overrides: Mapping[str, float]) -> BuiltTask:
        """Generate a company, draw its chaos kinds, and add the task."""
        stream = Stream(self.name, seed)
        drawn = draw_chaos(stream, profile, overrides, applicable=self.applicable, always=self.always)
        world = generate_world(stream.child("world"), self.base)
        if self.team is not None:
            set_agent(world, stream.child("agent"), self.team)
        begun = self.begin_task(BuildContext(world, stream, drawn.kinds, drawn.must_refuse))
        finish_world(world)
        case, affected = begun.case()
        brief = draw_brief(self.texts(), stream.child("brief"), case.ticket_key)
        entities = {**dict.fromkeys(drawn.kinds, case.ticket_key), **affected}
        return BuiltTask(world, case, brief, injections(profile, drawn.kinds, entities))

    def plan(self, seed: int, chaos: int, overrides: Mapping[str, float] | None = None) -> Instance:
        """Plan the instance of a seed and level. Raises ChaosError for an invalid level or override."""
        profile, overrides = profile_for(chaos), overrides or {}
        faults = FaultPlan.from_profile(profile, overrides, self.name, seed)
        built_task = self.build(seed, profile, overrides)
        world, case, stream = built_task.world, built_task.case, Stream(self.name, seed, "unrest")
        perturbations = add_perturbations(
            world,
            stream,
            case,
            profile,
            overrides,
            exclude=self.excluded_perturbations,
            opt_in=self.opt_in_kinds,
            always_renamed=self.always_renamed,
        )
        shorten_absences(world)
        rubric_factory = RubricFactory(
            self.rubric, case, world.company(), perturbations.instructions, confidential_values(world, [case])
        )
        documents = world.documents(draw_seed=digest([self.name, seed]))
        return Instance(
            scenario=self.name,
            seed=seed,
            chaos=chaos,
            brief=built_task.brief,
            company_name=world.company_name,
            acting_as=world.agent_id,
            started_at=world.started_at,
            max_steps=self.max_steps,
            documents=documents,
            task_tools=self.offered_tools(seed),
            variant=case.variant.value,
            faults=faults,
            drift=perturbations.drift,
            rubric=rubric_factory(),
            build_rubric=rubric_factory,
            injections=built_task.injections + perturbations.injections + transport_injections(profile, faults),
        )

    def offered_tools(self, seed: int) -> tuple[str, ...]:
        """Return the tools of a task: all that it may need, and at least half of the distractors."""
        stream, most = Stream(self.name, seed, "tools"), len(self.distractors)
        drawn = stream.sample(self.distractors, stream.integer((most + 1) // 2, most))
        return (*self.tools, *(tool for tool in self.distractors if tool in drawn))

    def begin_task(self, build: BuildContext) -> BegunTask:
        """Add the task to the world, and return it."""
        world, kinds = build.world, build.kinds
        own_types = self.texts().get("types", {})
        remove_requests(world, lambda request: request.type_key in own_types)
        facts = self.draw(build.child("facts"))
        policy, priority = self._add_policy(build.child("policy"), facts)
        slot = self.take_slot(build.child("key"))
        facts = self.complete(build.child("complete"), facts, policy, slot)
        declare = partial(self._declare, facts, policy, slot.key)
        solution = declare()
        requests = solution.outcome.requests
        affected = {Kind.SUPERSEDED_POLICY: policy.policy_id}
        if requests:
            requests, chain = self._add_approvals(build, facts, policy, requests)
            affected |= affected_people(chain, requests[-1].subject, requests[-1].role.value)
            affected[Kind.SIMILAR_NAMES] = requests[-1].subject
        for metric in reversed(solution.outcome.metrics):
            affected |= affected_metric(metric, metric.key)
        plan = self._ticket_plan(build, facts, slot)
        ticket = add_task_ticket(build.child("ticket"), plan, priority=priority)
        self.add_events(build.child("events"), facts, ticket)
        affected |= dict(solution.affected or {})

        def case() -> tuple[ScenarioCase, Mapping[Kind, str]]:
            return ScenarioCase(
                **ticket.case_fields(world, kinds, priority, self._backing_ids(facts, policy, solution.outcome)),
                variant=solution.variant,
                approver_ids=requests[-1].approver_ids if requests else solution.approver_ids,
                refusal=solution.refusal,
                end_status=self.end_status,
                outcome=replace(declare().outcome, requests=requests),  # again: delegations have their IDs by now
                facts=facts,
                declare=declare,
            ), affected

        approver_ids = (person_id for one in requests for person_id in one.approver_ids)
        assignee_id = ticket.ticket.assignee_id
        return BegunTask(
            case,
            subjects=frozenset(self.slots(facts).values()),
            needed_people=frozenset(
                {*approver_ids, *solution.approver_ids, *([assignee_id] if assignee_id else [])}
                | self.needed_people(facts)
            ),
            exclusive_people=self.exclusive_people(facts),
            ticket=ticket,
        )

    def _declare(self, facts: FactsT, policy: PolicyRow, ticket_key: str) -> Solution:
        """Return the solution; every refusal requires that the policy in force was read."""
        solution = self.solution(facts, policy, ticket_key)
        if solution.refusal is None:
            return solution
        known = (*solution.outcome.facts, policy_shown(policy.policy_id, policy.version))
        return replace(solution, outcome=replace(solution.outcome, facts=known))

    def rubric(self, case: ScenarioCase, company: Company) -> TaskRubric:
        """Return the rubric of the task."""
        return self.case_rubric(case, company).rubric()

    def case_rubric(self, case: ScenarioCase, company: Company) -> TicketRubric:
        """Return the rubric of the outcome."""
        return outcome_rubric(self.redeclared(case), company)

    def redeclared(self, case: ScenarioCase) -> ScenarioCase:
        """Return the case with its outcome declared again, so that changed scenario code (a mutant) takes effect."""
        solution = case.declare()
        return replace(case, outcome=solution.outcome, refusal=solution.refusal)

    def _backing_ids(self, facts: FactsT, policy: PolicyRow, outcome: Outcome) -> BackingIds:
        """Return the ids of the rows that checklist items name: slots, the policy, its approval types and metrics."""
        ids: dict[str, tuple[str, ...]] = {name: (value,) for name, value in self.slots(facts).items()}
        ids["policy"] = (policy.id,)
        if outcome.requests:
            introduced = (*outcome.requests, *self.other_requests(outcome.requests[-1]))
            ids["approval_type"] = tuple(one.type_key for one in introduced)
        for metric in outcome.metrics:
            ids[metric.key] = (*ids.get(metric.key, ()), metric.metric_id, *metric.other_metric_ids)
        return ids

    def _add_policy(self, build: BuildContext, facts: FactsT) -> tuple[PolicyRow, Priority]:
        drawn = build.stream.choice(PRIORITIES)
        figures = self.figures(facts, build.stream, drawn, in_force=True)
        titles, topic = self.policy_head(facts)
        priority = self.priority(facts, figures, drawn)
        policy = add_policy_versions(
            build.world,
            build.stream,
            titles=titles,
            topic=topic,
            body=lambda parameters: self.policy_body(facts, parameters),
            in_force=figures,
            superseded=lambda own: self.figures(facts, own, draw_other_priority(own, priority), in_force=False),
            kinds=build.kinds,
        )
        return policy, priority

    def _add_approvals(
        self, build: BuildContext, facts: FactsT, policy: PolicyRow, requests: tuple[Request, ...]
    ) -> tuple[tuple[Request, ...], ApproverChain]:
        """Add the approval types, the approvers and their reactions; return the requests with their approvers."""
        for request in (*requests, *self.other_requests(requests[-1])):
            self._add_type(build.child("type", request.type_key), facts, policy, request)
        requests, chain = self._add_approvers(build.child("approvers"), facts, requests)
        plan_reactions(
            build.world,
            build.stream.child("reactions"),
            type_key=requests[-1].type_key,
            subject=requests[-1].subject,
            words=self.texts()["decisions"],
            kinds=build.kinds,
            facts=self.answers(build, facts),
        )
        return requests, chain

    def _add_type(self, build: BuildContext, facts: FactsT, policy: PolicyRow, request: Request) -> None:
        words = self.texts()["types"][request.type_key]
        thresholds = self.thresholds(facts, build.stream, request)
        amounts = [name for name in request.fields if name.endswith("amount_cents")]
        fields = [
            FieldSpecRow(
                name=name,
                type=field_type(value),
                required=True,
                description=words["fields"][name],
                max_age_minutes=_max_age_minutes(value),
                names_beneficiary=name == words.get("beneficiary"),
            )
            for name, value in request.fields.items()
        ]
        row = ApprovalTypeRow(
            key=request.type_key,
            title=words["title"],
            description=words["description"],
            policy_ref=policy.policy_id,
            fields=fields,
            amount_field=amounts[0] if amounts and len(thresholds) > 1 else None,
            thresholds=[ThresholdRow(up_to_cents=up_to, role=role.value) for up_to, role in thresholds],
            expires_after_minutes=EXPIRES_AFTER_MINUTES,
            administered_by=list(dict.fromkeys((self.team_id(build.world), *ADMINISTERING_TEAMS))),
        )
        replace_approval_type(build.world, row)

    def _add_approvers(
        self, build: BuildContext, facts: FactsT, requests: tuple[Request, ...]
    ) -> tuple[tuple[Request, ...], ApproverChain]:
        """Add the approvers; return the requests with their approvers, and the chain of the last request."""
        world, stream, kinds = build.world, build.stream, build.kinds
        *earlier, last = requests
        if earlier:
            (first,) = earlier
            first_id, chain = add_two_stage_approvers(
                world,
                stream,
                first=(first.type_key, first.role),
                last=(last.type_key, last.role),
                amount_cents=last.amount_cents,
                kinds=kinds,
            )
            return (replace(first, approver_ids=(first_id,)), replace(last, approver_ids=chain.approver_ids)), chain
        spec = DecisionSpec(
            type_key=last.type_key,
            role=last.role,
            holder_ids=sorted(last.holder_ids or (one.id for one in world.staff.holders(last.role))),
            amount_cents=last.amount_cents,
            deputy_candidates=self.deputies(build, facts, last) - last.excluded_ids,
            other_types=[key for key in OTHER_TYPES if key != last.type_key][:2],
        )
        chain = add_approver_chain(world, stream, spec, kinds)
        if Kind.APPROVER_OUT_OF_OFFICE in kinds:
            delegate_to_excluded(world, stream.child("barred"), spec.holder_ids[0], last.excluded_ids)
        return (replace(last, approver_ids=chain.approver_ids),), chain

    def _ticket_plan(self, build: BuildContext, facts: FactsT, slot: KeySlot) -> TicketPlan:
        world, slots, citations = build.world, self.slots(facts), self.citations(facts)

        involved = {*slots.values(), self.reporter_id(facts), world.agent_id}
        others = [one.name for one in world.staff.active() if not {one.id, one.name} & involved]

        def fill(stream: Stream, text: str) -> str:
            return text.format(**slots, person=stream.choice(others))

        def describe(stream: Stream) -> str:
            way = self.precise_citation if Kind.SIMILAR_NAMES in build.kinds else stream.choice(list(citations))
            return fill(stream, stream.choice(citations[way]))

        return TicketPlan(
            team_id=self.team_id(world),
            slot=slot,
            reporter_id=self.reporter_id(facts),
            titles=self.titles(facts),
            describe=describe,
            fill=fill,
            words=self.texts(),
            duplicate_texts=self.duplicate_texts(facts),
            tags=self.tags,
            duplicate_tags=self.duplicate_tags,
            type=self.ticket_type,
            due_in=min(self.due_in, build.latest_due_in or self.due_in),
            statuses=self.ticket_statuses,
        )


def field_type(value: FieldValue) -> FieldType:
    """Return the type of the approval field that states a value."""
    if isinstance(value, MetricValue):
        return "number"
    if isinstance(value, MetricTime):
        return "datetime"
    if isinstance(value, RecordSum | SelectionSum):
        return "integer"
    plain = getattr(value, "value", "")
    types: list[tuple[type, FieldType]] = [(bool, "boolean"), (int, "integer"), (float, "number"), (date, "date")]
    return next((name for kind, name in types if isinstance(plain, kind)), "text")


def _max_age_minutes(value: FieldValue) -> int | None:
    spec: MetricSpec | None = value.metric if isinstance(value, MetricTime) else None
    return None if spec is None else int(spec.max_age.total_seconds()) // 60


def inapplicable_kinds(scenario: Scenario) -> frozenset[Kind]:
    """Return the kinds that a declared scenario excludes: they never apply, not even if an override requests them."""
    if not isinstance(scenario, DeclaredScenario):
        return frozenset()
    task_kinds = [kind for kind in Kind if kind not in PERTURBATION_KINDS and kind.group is not Group.TRANSPORT]
    not_opted_in = PERTURBATION_KINDS & OPT_IN_KINDS - scenario.opt_in_kinds
    return frozenset(
        {kind for kind in task_kinds if kind not in scenario.applicable}
        | scenario.excluded_perturbations
        | not_opted_in
    )
