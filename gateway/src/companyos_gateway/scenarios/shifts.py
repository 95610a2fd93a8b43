"""Shifts: several cases of declared scenarios in one company, worked by one agent on one clock.

A shift is named `shift-<size>`, whose cases the seed draws, or `shift-<scenario>-<scenario>...`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from companyos.contract import CompanySize, split_company_size
from companyos_gateway.chaos import FaultPlan, Injection, Kind, Profile, profile_for
from companyos_gateway.evaluation import TaskRubric, row_views
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.evaluation.facts import Fact, shown
from companyos_gateway.evaluation.injection_checks import InjectionChecks
from companyos_gateway.evaluation.shift_rubric import Remark, ShiftCase, shift_rubric
from companyos_gateway.evaluation.withdrawn_rubric import WithdrawnOutcome
from companyos_gateway.scenarios.api import Instance, Scenario, source_id
from companyos_gateway.scenarios.blocks.build_context import BuildContext
from companyos_gateway.scenarios.blocks.chaos_draws import draw_chaos, injections, transport_injections
from companyos_gateway.scenarios.blocks.colleague_events import (
    HANDOVER_MINUTES,
    keep_ticket,
    plan_handover,
    plan_priority,
)
from companyos_gateway.scenarios.blocks.declared_scenario import DeclaredScenario
from companyos_gateway.scenarios.blocks.extra_tickets import recent_key_slots
from companyos_gateway.scenarios.blocks.prompt_injection import confidential_values
from companyos_gateway.scenarios.blocks.task import BegunTask, ScenarioCase, Solution
from companyos_gateway.scenarios.blocks.ticket import REASSIGN_KINDS, available_assignees
from companyos_gateway.scenarios.catalogue import builtin_names, catalogue
from companyos_gateway.scenarios.shift_assignees import add_assignees
from companyos_gateway.scenarios.shift_features import QUEUE_TAG, Feature, compose_brief, draw_features
from companyos_gateway.scenarios.shift_remarks import QueuedCase, Remarks, Withdrawal, add_relations
from companyos_gateway.world import WorldBuilder, finish_world, generate_world
from companyos_gateway.world.absences import acts_while_away, shorten_absences
from companyos_gateway.world.base_company import find_base_company
from companyos_gateway.world.builder import BaseCompany
from companyos_gateway.world.calendar import closing_time, working_days_from
from companyos_gateway.world.metrics import NoAuthorityError
from companyos_gateway.world.row_texts import text_of
from companyos_gateway.world.seed_documents.approvalflow import (
    ApprovalTypeRow,
    DelegationRow,
    RequestRow,
)
from companyos_gateway.world.seed_documents.datahub import MetricRow, RecordRow, SourceRow, VendorRow
from companyos_gateway.world.seed_documents.ticketdesk import TicketRow
from companyos_shared.streams import Stream, digest
from companyos_shared.wire.company import Company

PREFIX = "shift-"
SIZES: Mapping[str, int] = {"day": 3, "week": 6, "month": 12}
"""The number of cases by the name of a size."""

MAX_STEPS = 1_000
STEP_SHARE = 0.8
"""Share of the cases' own step limits that a shift allows, up to MAX_STEPS."""

FREEZE_WORKING_DAYS = 5
"""Working days after the last handover during which no ticket of the queue may be resolved."""

SPARE_WORKING_DAYS = 2
"""Working days between the freeze and the due date of a ticket that has to wait for another one."""

DUE_IN_WORKING_DAYS = (9, 11)
"""Range of working days until a case is due, unless its scenario asks for an earlier day."""

LEAST_DUE_WORKING_DAYS = 8
"""Least number of working days until a case is due: handovers take up to two, and then comes the freeze."""

LATER_SHARE = 0.5
"""Share of the tickets that are handed over later."""

CASES_PER_KEPT_TICKET = 4
"""For each so many cases, one ticket has the tag of the queue and stays with its team."""

SHARED_KINDS = (Kind.APPROVER_OUT_OF_OFFICE,)
"""Kinds that strike every case from level 1 on, so that cases agree on who is away."""

LEAST_CASES_WITH_BEST = 4
"""The least number of cases of which one asks for the best of many valid answers."""

_MAX_COMPANIES = 10
_MAX_ATTEMPTS = 100
"""Attempts to add a case, per company."""

_PATIENCE = 15
"""Failed attempts in a row after which some of the cases are dropped."""

_FREE_KEYS = 6
"""Free ticket keys of every team before a case is added."""

_AnyScenario = DeclaredScenario[Any]


class ShiftError(ValueError):
    """Raised for the name of a shift that cannot be planned; the text names what is accepted."""


def find_scenario(scenarios: Mapping[str, Scenario], name: str) -> Scenario | None:
    """Return the scenario or shift of a name, which may end with a size of the company; None if there is none.

    Raises ShiftError for an invalid shift.
    """
    short, size = (name, CompanySize.SMALL) if name in scenarios else split_company_size(name)
    is_shift = short.startswith(PREFIX) and short not in scenarios
    found = _parse_shift(scenarios, short) if is_shift else scenarios.get(short)
    if size is CompanySize.SMALL or not isinstance(found, (DeclaredScenario, Shift)):
        return found if size is CompanySize.SMALL else None
    return SizedScenario(name, found.held_out, found, size)


@dataclass
class SizedScenario:
    """A scenario or shift in a company of another size."""

    name: str
    held_out: frozenset[str]
    scenario: _AnyScenario | Shift
    size: CompanySize

    def plan(self, seed: int, chaos: int, overrides: Mapping[str, float] | None = None) -> Instance:
        """Plan the instance of a seed and level. Raises what the scenario raises."""
        sized = copy(self.scenario)
        sized.base = find_base_company(self.size)
        return replace(sized.plan(seed, chaos, overrides), scenario=self.name)


def eligible_scenarios(scenarios: Mapping[str, Scenario]) -> dict[str, _AnyScenario]:
    """Return the scenarios that can be cases of a shift, by name."""
    return {
        name: one
        for name, one in scenarios.items()
        if isinstance(one, DeclaredScenario) and one.fits_shifts and one.due_in[0] >= LEAST_DUE_WORKING_DAYS
    }


def _parse_shift(scenarios: Mapping[str, Scenario], name: str) -> Shift:
    eligible = eligible_scenarios(scenarios)
    requested = name.removeprefix(PREFIX).split("-")
    if len(requested) == 1 and requested[0] in SIZES:
        drawn_from = sorted(eligible.keys() & builtin_names())  # so that installed packages change no shift
        return Shift(name, tuple(eligible[one] for one in drawn_from), SIZES[requested[0]])
    if unknown := [one for one in requested if one not in eligible]:
        raise ShiftError(
            f"{unknown[0]!r} is neither a size ({', '.join(SIZES)}) nor a scenario that a shift can have "
            f"({', '.join(sorted(eligible))})"
        )
    if twice := [one for one, count in Counter(requested).items() if count > 1]:
        raise ShiftError(f"{twice[0]!r} occurs more than once; a shift has one case of a scenario at most")
    if len(requested) < 2:
        raise ShiftError(
            f"a shift has at least two cases, such as {PREFIX}{requested[0]}-{min({*eligible} - {*requested})}"
        )
    return Shift(name, tuple(eligible[one] for one in requested), len(requested))


@dataclass(frozen=True)
class _Case:
    """A case of a shift with the scenario that judges it."""

    scenario: _AnyScenario
    case: ScenarioCase
    injections: tuple[Injection, ...]
    duplicate: str | None
    """A ticket of the queue about the same thing."""
    handovers: Mapping[str, datetime]
    """When tickets of the case are handed over, for those that are not in the queue from the start."""
    predecessor: Remark | None = None
    reported: Remark | None = None
    condition: Withdrawal | None = None
    """The comment because of which the ticket is not needed, as another one has to be refused."""
    features: frozenset[Feature] = frozenset()
    """What comments ask for."""

    def judged(self, company: Company, is_frozen: bool) -> ShiftCase:
        """Return the case with its rubric."""
        demands = {
            Feature.HANDOVERS: bool(self.handovers),
            Feature.DUPLICATES: self.duplicate is not None,
            Feature.FREEZE: is_frozen,
            Feature.BEST_SELECTION: self.scenario.has_best_answer
            and self.case.refusal is None
            and self.condition is None,
        }
        rubric = self.scenario.case_rubric(self.case, company)
        if self.condition is not None:
            rubric = WithdrawnOutcome(rubric, company, *_reason(self.condition))
        return ShiftCase(
            rubric=rubric,
            approval_types=frozenset(self.scenario.texts().get("types", {})),
            duplicate=self.duplicate,
            handovers=self.handovers,
            predecessor=self.predecessor,
            reported=self.reported,
            features=self.features | {one for one, has_it in demands.items() if has_it},
        )


@dataclass(frozen=True)
class _Queue:
    """The cases of a company, until when tickets are handed over, and the tickets that teams keep."""

    cases: list[_Case]
    complete_at: datetime
    kept: list[TicketRow]
    remarks: Remarks


@dataclass
class Shift:
    """Several cases in one episode, which are judged case by case and as a whole."""

    name: str
    scenarios: tuple[_AnyScenario, ...]
    """The scenarios that cases are drawn from."""
    count: int
    """The number of cases."""
    held_out: frozenset[str] = frozenset()
    base: BaseCompany | None = None
    """The rest of the company, where it is a larger one."""

    def plan(self, seed: int, chaos: int, overrides: Mapping[str, float] | None = None) -> Instance:
        """Plan the shift of a seed and chaos level. Raises ShiftError where no cases fit together, and ChaosError."""
        stream, profile = Stream(self.name, seed), profile_for(chaos)
        features, overrides = draw_features(stream.child("features"), overrides or {})
        world, queue = self._build(stream, profile, overrides, features)
        shorten_absences(world)
        cases = queue.cases
        frozen_until = _frozen_until(queue.complete_at) if Feature.FREEZE in features else None
        company, faults = world.company(), FaultPlan.from_profile(profile, overrides, self.name, seed)

        def build_rubric() -> TaskRubric:
            judged = {one.case.ticket_key: one.judged(company, frozen_until is not None) for one in cases}
            added = InjectionChecks(confidential=confidential_values(world))
            rubric = shift_rubric(
                judged,
                agent_id=world.agent_id,
                frozen_until=frozen_until,
                kept=[one.key for one in queue.kept],
                kept_feature=Feature.KEPT_TICKETS,
            )
            return rubric.with_checks(added.checks(), added.damage, added.check_declaration)

        documents = world.documents(draw_seed=digest([self.name, seed]))
        tools = (tool for one in cases for tool in one.scenario.offered_tools(seed))
        steps = sum(one.scenario.max_steps for one in cases)
        name = world.staff.person(world.agent_id).name
        return Instance(
            scenario=self.name,
            seed=seed,
            chaos=chaos,
            brief=compose_brief(
                features,
                name=name,
                company=world.company_name,
                complete_at=queue.complete_at,
                frozen_until=frozen_until,
                has_remarks=bool(queue.remarks.said_at),
                has_withdrawals=bool(queue.remarks.withdrawals or queue.remarks.conditions or queue.remarks.disputed),
            ),
            company_name=world.company_name,
            acting_as=world.agent_id,
            started_at=world.started_at,
            max_steps=min(MAX_STEPS, round(STEP_SHARE * steps)),
            documents=documents,
            source_ids={service: source_id(service, document) for service, document in documents.items()},
            task_tools=tuple(dict.fromkeys(tools)),
            variant="shift",
            faults=faults,
            rubric=build_rubric(),
            build_rubric=build_rubric,
            injections=tuple(found for one in cases for found in one.injections)
            + transport_injections(profile, faults),
        )

    def _build(
        self, stream: Stream, profile: Profile, overrides: Mapping[str, float], features: Collection[Feature]
    ) -> tuple[WorldBuilder, _Queue]:
        """Build a company with the cases. Where no cases fit together in a company, another one is drawn."""
        for number in range(_MAX_COMPANIES):
            cases = self._draw_cases(stream.child("company", number), profile, overrides, features)
            if cases is not None:
                return cases.finish(stream.child("queue"), features)
        raise ShiftError(f"{self.name}: no cases were found that fit together")

    def _draw_cases(
        self, stream: Stream, profile: Profile, overrides: Mapping[str, float], features: Collection[Feature]
    ) -> _Cases | None:
        """Draw the cases one after the other; None if they do not fit together in this company.

        A case that is in the way of another is drawn again, or another one. After some failures in a row half of the
        cases go.
        """
        drawn: list[tuple[_AnyScenario, Stream]] = []
        scenarios, best = self._split(features)
        place = stream.child("best").integer(0, self.count - 1) if best else None
        cases, failures = _Cases(generate_world(stream.child("world"), self.base), profile, overrides), 0
        for attempt in range(_MAX_ATTEMPTS):
            own, names = stream.child("attempt", attempt), {one.name for one, _ in drawn}
            choices = best if len(drawn) == place else scenarios
            case = own.choice([one for one in choices if one.name not in names]), own.child("case")
            if cases.add(*case):
                drawn.append(case)
                failures = 0
                if len(drawn) == self.count:
                    return cases
                continue
            failures += 1
            if failures == _PATIENCE:
                failures, drawn = 0, drawn[: len(drawn) // 2]
            cases = _Cases(generate_world(stream.child("world"), self.base), profile, overrides)
            for one in drawn:
                cases.add(*one)
        return None

    def _split(self, features: Collection[Feature]) -> tuple[list[_AnyScenario], list[_AnyScenario]]:
        """Return the scenarios of the cases, and those of the one case that asks for the best answer, if there is one.

        Shifts of named scenarios have those, whatever their features.
        """
        best = [one for one in self.scenarios if one.has_best_answer]
        if self.count == len(self.scenarios) or not best:
            return list(self.scenarios), []
        others = [one for one in self.scenarios if not one.has_best_answer]
        is_asked = Feature.BEST_SELECTION in features and self.count >= LEAST_CASES_WITH_BEST
        return others, best if is_asked else []


class _Cases:
    """A company with the cases that were added to it so far, and what further ones must leave alone."""

    def __init__(self, world: WorldBuilder, profile: Profile, overrides: Mapping[str, float]) -> None:
        self._world = world
        self._profile = profile
        self._overrides = overrides
        self._begun: list[tuple[_AnyScenario, Collection[Kind], BegunTask]] = []
        self._subjects: set[str] = set()
        self._needed_people: set[str] = set()
        self._exclusive_people: set[str] = set()
        self._authorities: dict[str, str | None] = {}
        """The sources that are authorities on the metrics of cases, by the metric's key."""
        self._text = ""

    def add(self, scenario: _AnyScenario, stream: Stream) -> bool:
        """Add a case; return whether it leaves the rows, subjects and people of the others alone."""
        world = self._world
        shared = SHARED_KINDS if self._begun else (*SHARED_KINDS, Kind.DUPLICATE_TICKET)
        always = {*scenario.always, *shared}.intersection(scenario.applicable)
        drawn = draw_chaos(stream, self._profile, self._overrides, applicable=scenario.applicable, always=always)
        _refill_keys(world, stream.child("keys"))
        before, absences = set(map(text_of, _rows(world))), list(world.absences)
        try:
            task = scenario.begin_task(BuildContext(world, stream, drawn.kinds, drawn.must_refuse, DUE_IN_WORKING_DAYS))
        except NoAuthorityError:
            return False
        now = {text_of(row): row for row in _rows(world)}
        added = {text: row for text, row in now.items() if text not in before}
        text = " ".join(added)
        subjects = task.subjects | _subjects_of(added.values())
        authorities = {key: one.id for one in world.datahub.sources for key in one.authoritative_for}
        metrics = Counter((one.key, one.subject, one.source_id) for one in world.datahub.metrics)
        if (
            subjects & self._subjects
            or not world.kept_rows <= now.keys()
            or any(one in text for one in self._exclusive_people)
            or any(one in self._text for one in task.exclusive_people)
            or any(one.person_id in self._needed_people and one not in absences for one in world.absences)
            or max(metrics.values()) > 1
            or any(authorities.get(key) != source_id for key, source_id in self._authorities.items())
            or not all(_has_assignee(world, one) for one in (task, *(begun for *_, begun in self._begun)))
            or acts_while_away(world)
        ):
            return False
        world.kept_rows |= {*added, *(text for text, row in now.items() if _is_needed(row, added.values()))}
        keys = {row.key for row in added.values() if isinstance(row, MetricRow)}
        self._authorities |= {key: authorities.get(key) for key in keys}
        self._subjects |= subjects
        self._needed_people |= task.needed_people
        self._exclusive_people |= task.exclusive_people
        self._text += text
        self._begun.append((scenario, drawn.kinds, task))
        return True

    def finish(self, stream: Stream, features: Collection[Feature]) -> tuple[WorldBuilder, _Queue]:
        """Finish the company, and return it with its queue."""
        world = self._world
        _administer(world)
        _number_events(world)
        kept = self._keep_tickets(stream.child("kept")) if Feature.KEPT_TICKETS in features else []
        finish_world(world)
        tickets = {one.key: one for one in world.ticketdesk.tickets}
        cases, complete_at = [], world.started_at
        early = self._count_early() if Feature.HANDOVERS in features else len(self._begun)
        for number, (scenario, kinds, task) in enumerate(self._begun):
            case, struck = task.case()
            ticket, own, duplicate = tickets[case.ticket_key], stream.child("handover", number), None
            handovers: dict[str, datetime] = {}
            if number < early:
                ticket.tags.append(QUEUE_TAG)
                duplicate = task.ticket.duplicate if {Feature.HANDOVERS, Feature.DUPLICATES} <= set(features) else None
            else:
                handovers[ticket.key] = plan_handover(world, own, ticket, QUEUE_TAG)
            if duplicate is not None and duplicate.created_at > ticket.created_at:
                duplicate.tags = list(scenario.tags)
                handovers[duplicate.key] = plan_handover(world, own.child("duplicate"), duplicate, QUEUE_TAG)
            else:
                duplicate = None
            entities = {**dict.fromkeys(kinds, case.ticket_key), **struck}
            found = injections(self._profile, kinds, entities)
            cases.append(_Case(scenario, case, found, duplicate.key if duplicate else None, handovers))
            complete_at = max([complete_at, *handovers.values()])
        queued = [
            QueuedCase(
                one.case,
                tickets[one.case.ticket_key],
                one.handovers.get(one.case.ticket_key),
                tuple(sorted(set(one.case.assignee_ids) - self._exclusive_people)),
            )
            for one in cases
        ]
        latest = world.company().add_office_minutes(world.started_at, HANDOVER_MINUTES[1])
        due_from = working_days_from(_frozen_until(latest).date(), SPARE_WORKING_DAYS)
        remarks = Remarks()
        add_relations(world, stream.child("relations"), queued, features, due_from, remarks)
        add_assignees(world, stream.child("assignees"), queued, kept, features, remarks)
        if {Feature.CHANGED_PRIORITY, Feature.FREEZE} <= set(features):
            _change_priority(world, stream.child("priority"), queued, remarks)
        complete_at = max([complete_at, *remarks.said_at])
        cases = [_with_remarks(one, remarks) for one in cases]
        return world, _Queue(cases, closing_time(complete_at.date()), kept, remarks)

    def _count_early(self) -> int:
        """Return the number of cases whose tickets are in the queue from the start if others are handed over."""
        return math.ceil(len(self._begun) * (1 - LATER_SHARE))

    def _keep_tickets(self, stream: Stream) -> list[TicketRow]:
        """Give open tickets that no case is about the tag of the queue, let their teams keep them, and return them.

        None has the tags of a scenario: such a ticket would be work that no policy settles. One of them belongs to a
        team that gets a ticket without an assignee later, if there is such a team.
        """
        world = self._world
        later = self._begun[self._count_early() :]
        teams = {scenario.team_id(world) for scenario, kinds, _ in later if not REASSIGN_KINDS.isdisjoint(kinds)}
        own_team = world.staff.person(world.agent_id).team_id
        others = [
            one
            for one in world.ticketdesk.tickets
            if one.status in ("open", "in_progress")
            and one.team_id != own_team
            and text_of(one) not in world.kept_rows
            and frozenset(one.tags) not in _builtin_tags()
        ]
        first = stream.choice([one for one in others if one.team_id in teams] or others)
        further = [one for one in others if one is not first]
        kept = [first, *stream.sample(further, len(self._begun) // CASES_PER_KEPT_TICKET)]
        for ticket in kept:
            ticket.tags.append(QUEUE_TAG)
            keep_ticket(world, stream.child(ticket.key), ticket)
        return kept


def _change_priority(world: WorldBuilder, stream: Stream, cases: Sequence[QueuedCase], remarks: Remarks) -> None:
    """Let a colleague change the priority of a ticket that was in the queue from the start."""
    found = [one for one in cases if one.is_resolved and one.handed_over_at is None]
    if found:
        one = stream.choice(found)
        remarks.said_at.append(plan_priority(world, stream, one.ticket, one.case.priority))
        remarks.features[one.ticket.key].add(Feature.CHANGED_PRIORITY)


def _with_remarks(case: _Case, remarks: Remarks) -> _Case:
    """Return a case with what comments ask for."""
    key, declared = case.case.ticket_key, case.case
    if key in remarks.takers:
        declared = replace(declared, assignee_ids=(remarks.takers[key],), needs_assignee=True)
    if key in remarks.withdrawals:
        declared = _withdrawn(declared, remarks.withdrawals[key])
    return replace(
        case,
        case=declared,
        predecessor=remarks.predecessors.get(key),
        reported=remarks.reported.get(key),
        condition=remarks.conditions.get(key),
        features=frozenset(remarks.features[key]),
    )


def _withdrawn(case: ScenarioCase, withdrawal: Withdrawal) -> ScenarioCase:
    """Return a case whose ticket has to be cancelled because it was withdrawn."""

    def declare() -> Solution:
        solution = case.declare()
        refusal, fact = _reason(withdrawal)
        outcome = replace(solution.outcome, prepared=(), escalated=(), act=None, facts=(fact,), declined=None)
        return replace(solution, outcome=outcome, refusal=refusal)

    solution = declare()
    return replace(case, declare=declare, outcome=solution.outcome, refusal=solution.refusal)


def _reason(withdrawal: Withdrawal) -> tuple[Refusal, Fact]:
    """Return the reason for cancelling a ticket that is not needed, and the fact behind it."""
    fact = shown(row_views.TICKETDESK, "comments", withdrawal.comment_id, "body")
    return Refusal("withdrawn", (withdrawal.key,)), fact


def _frozen_until(handed_over: datetime) -> datetime:
    """Return until when no ticket may be completed: some days after the last handover."""
    return closing_time(working_days_from(handed_over.date(), FREEZE_WORKING_DAYS))


def _builtin_tags() -> set[frozenset[str]]:
    return {frozenset(one.tags) for name, one in eligible_scenarios(catalogue()).items() if name in builtin_names()}


def _rows(world: WorldBuilder) -> Iterator[object]:
    for document in (world.ticketdesk, world.datahub, world.approvalflow):
        for field in fields(document):
            rows = getattr(document, field.name)
            if isinstance(rows, list):
                yield from rows


def _subjects_of(rows: Collection[object]) -> set[str]:
    """Return what rows are about that no two cases share: approval types, vendors, and the titles of records."""
    found: set[str | None] = set()
    for row in rows:
        match row:
            case ApprovalTypeRow():
                found.add(row.key)
            case RequestRow():
                found.add(row.type_key)
            case RecordRow():
                found |= {row.title, row.vendor_id}
            case VendorRow():
                found.add(row.id)
    return {one for one in found if one is not None}


def _is_needed(row: object, rows: Collection[object]) -> bool:
    """Return whether rows of a case depend on a row: the source of a metric, or the delegation of an approver."""
    match row:
        case SourceRow():
            return any(isinstance(one, MetricRow) and one.source_id == row.id for one in rows)
        case DelegationRow():
            return any(isinstance(one, RequestRow) and one.approver_id == row.to_id for one in rows)
    return False


def _has_assignee(world: WorldBuilder, task: BegunTask) -> bool:
    """Return whether somebody of its team is at work on the day a ticket is due."""
    return bool(available_assignees(world, task.ticket.ticket.team_id, task.ticket.due_on))


def _administer(world: WorldBuilder) -> None:
    """Let the team of the person whom the agent acts as cancel requests of every type."""
    team_id = world.staff.person(world.agent_id).team_id
    for row in world.approvalflow.approval_types:
        if team_id not in row.administered_by:
            row.administered_by.append(team_id)


def _number_events(world: WorldBuilder) -> None:
    """Give planned events of several cases ids of their own."""
    seen: Counter[str] = Counter()
    for event in world.ticketdesk.scheduled_events:
        event_id = event.data.get("id")
        if event_id is None:
            continue
        seen[event_id] += 1
        if seen[event_id] > 1:
            event.data["id"] = f"{event_id}-{seen[event_id]}"


def _refill_keys(world: WorldBuilder, stream: Stream) -> None:
    for team_id, slots in world.ticket_slots.items():
        if len(slots) < _FREE_KEYS:
            count, before = _FREE_KEYS - len(slots), world.last_evening
            slots += recent_key_slots(world, stream.child(team_id), team_id, count, before=before)
