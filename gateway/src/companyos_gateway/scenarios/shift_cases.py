"""The cases of a shift in one company: scenarios are added one by one, and their tickets become a queue."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from companyos_gateway.chaos import Injection, Kind, Profile
from companyos_gateway.evaluation import row_views
from companyos_gateway.evaluation.cases import Refusal
from companyos_gateway.evaluation.facts import Fact, shown
from companyos_gateway.evaluation.shift_rubric import ShiftCase
from companyos_gateway.evaluation.ticket_rubric import WithdrawnOutcome
from companyos_gateway.scenarios.api import Scenario
from companyos_gateway.scenarios.blocks.build_context import BuildContext
from companyos_gateway.scenarios.blocks.chaos_draws import draw_chaos, injections
from companyos_gateway.scenarios.blocks.colleague_events import (
    HANDOVER_MINUTES,
    keep_ticket,
    plan_handover,
    plan_priority,
)
from companyos_gateway.scenarios.blocks.declared_scenario import DeclaredScenario
from companyos_gateway.scenarios.blocks.extra_tickets import recent_key_slots
from companyos_gateway.scenarios.blocks.task import BegunTask, ScenarioCase, Solution
from companyos_gateway.scenarios.blocks.ticket import REASSIGN_KINDS, available_assignees
from companyos_gateway.scenarios.catalogue import builtin_names, catalogue
from companyos_gateway.scenarios.shift_assignees import add_assignees
from companyos_gateway.scenarios.shift_features import QUEUE_TAG, Feature
from companyos_gateway.scenarios.shift_policy import freeze_end
from companyos_gateway.scenarios.shift_remarks import QueuedCase, Remarks, Withdrawal, add_bank_change, add_relations
from companyos_gateway.world import WorldBuilder, finish_world
from companyos_gateway.world.absences import acts_while_away
from companyos_gateway.world.builder import text_of
from companyos_gateway.world.calendar import closing_time, working_days_from
from companyos_gateway.world.metrics import NoAuthorityError
from companyos_gateway.world.seed_documents.approvalflow import (
    ApprovalTypeRow,
    DelegationRow,
    RequestRow,
)
from companyos_gateway.world.seed_documents.datahub import MetricRow, RecordRow, SourceRow, VendorRow
from companyos_gateway.world.seed_documents.ticketdesk import TicketRow
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Company

SPARE_WORKING_DAYS = 2
"""Working days between the freeze and the due date of a ticket that has to wait for another one."""

DUE_IN_WORKING_DAYS = (9, 11)
"""Range of working days until a case is due, unless its scenario asks for an earlier day."""

MIN_DUE_WORKING_DAYS = 8
"""Minimum number of working days until a case is due: handovers take up to two, followed by the freeze."""

LATER_SHARE = 0.5
"""Share of the tickets that are handed over later."""

CASES_PER_KEPT_TICKET = 4
"""Number of cases for which one more ticket has the tag of the queue but stays with its team."""

SHARED_KINDS = (Kind.APPROVER_OUT_OF_OFFICE,)
"""Kinds that apply to every case from level 1 on, so that cases agree on who is absent."""

SAME_VENDOR = ("purchase_order", "vendor_bank_change")
"""Scenarios whose cases can share a vendor. By the policy of the first, its ticket has to wait for the second one's."""

_CONFUSING = frozenset({Kind.DUPLICATE_TICKET, Kind.EXPIRED_CERTIFICATE, Kind.SIMILAR_NAMES})
"""Kinds that do not apply to the second of them: a further ticket or vendor would conflict with the first."""

_FREE_KEYS = 6
"""Free ticket keys of every team before a case is added."""

AnyScenario = DeclaredScenario[Any]
"""A scenario whose facts are of any type."""


def eligible_scenarios(scenarios: Mapping[str, Scenario]) -> dict[str, AnyScenario]:
    """Return the scenarios that can be cases of a shift, by name."""
    return {
        name: one
        for name, one in scenarios.items()
        if isinstance(one, DeclaredScenario) and one.fits_shifts and one.due_in[0] >= MIN_DUE_WORKING_DAYS
    }


@dataclass(frozen=True)
class Case:
    """A case of a shift with the scenario that judges it."""

    scenario: AnyScenario
    case: ScenarioCase
    injections: tuple[Injection, ...]
    duplicate: str | None
    """A ticket of the queue about the same thing."""
    handovers: Mapping[str, datetime]
    """Handover times of the case's tickets that are not in the queue from the start."""

    def judged(self, company: Company, general: Collection[Feature], remarks: Remarks) -> ShiftCase:
        """Return the case with its rubric and the demands of comments.

        The general features concern all tickets that have to be completed.
        """
        key = self.case.ticket_key
        condition = remarks.conditions.get(key)
        is_completed = self.case.refusal is None and condition is None
        demands = {
            **dict.fromkeys(general, is_completed),
            Feature.HANDOVERS: bool(self.handovers),
            Feature.DUPLICATES: self.duplicate is not None,
            Feature.BEST_SELECTION: self.scenario.has_best_answer and is_completed,
        }
        rubric = self.scenario.case_rubric(self.case, company)
        if condition is not None:
            rubric = WithdrawnOutcome(rubric, company, *_reason(condition))
        return ShiftCase(
            rubric=rubric,
            approval_types=frozenset(self.scenario.texts().get("types", {})),
            duplicate=self.duplicate,
            handovers=self.handovers,
            predecessor=remarks.predecessors.get(key),
            reported=remarks.reported.get(key),
            features=frozenset({*remarks.features[key], *(one for one, has_it in demands.items() if has_it)}),
        )


@dataclass(frozen=True)
class Queue:
    """The cases of a company, the end of handovers and comments, the tickets that teams keep, and the remarks."""

    cases: list[Case]
    complete_at: datetime
    kept: list[TicketRow]
    remarks: Remarks


class ShiftCases:
    """A company with the cases added so far, and the rows, subjects and people that further cases must not change."""

    def __init__(self, world: WorldBuilder, profile: Profile, overrides: Mapping[str, float]) -> None:
        self._world = world
        self._row_texts: Collection[str] = set(map(text_of, _rows(world)))
        """The rows of the company so far, as texts."""
        self._profile = profile
        self._overrides = overrides
        self._begun: list[tuple[AnyScenario, Collection[Kind], BegunTask]] = []
        self._subjects: set[str] = set()
        self._needed_people: set[str] = set()
        self._exclusive_people: set[str] = set()
        self._authorities: dict[str, str | None] = {}
        """IDs of the authorities on the metrics of cases, by metric key."""
        self._text = ""
        self._vendor: VendorRow | None = None
        """The vendor of the invoice that has to be paid."""
        self._vendor_kinds: frozenset[Kind] = frozenset()
        """Kinds that apply to this vendor, and apply to it again in the other case."""
        self._same_vendor = False

    def add(self, scenario: AnyScenario, stream: Stream, *, shares: bool) -> bool:
        """Add a case; return whether it leaves the rows, subjects and people of the other cases unchanged.

        If `shares` is set, a change of bank details is about the vendor of an invoice that has to be paid, if there is
        one.
        """
        world = self._world
        vendor = self._vendor if shares and scenario.name == SAME_VENDOR[1] else None
        shared = SHARED_KINDS if self._begun else (*SHARED_KINDS, Kind.DUPLICATE_TICKET)
        always = {*scenario.always, *shared}.intersection(scenario.applicable)
        drawn = draw_chaos(stream, self._profile, self._overrides, applicable=scenario.applicable, always=always)
        _refill_keys(world, stream.child("keys"))
        absences = list(world.absences)
        kinds = drawn.kinds if vendor is None else (drawn.kinds - _CONFUSING) | self._vendor_kinds
        try:
            build = BuildContext(world, stream, kinds, drawn.must_refuse, DUE_IN_WORKING_DAYS, vendor)
            task = scenario.begin_task(build)
        except NoAuthorityError:
            return False
        now = {text_of(row): row for row in _rows(world)}
        added = {text: row for text, row in now.items() if text not in self._row_texts}
        text = " ".join(added)
        subjects = task.subjects | _subjects_of(added.values())
        authorities = {key: one.id for one in world.datahub.sources for key in one.authoritative_for}
        metrics = Counter((one.key, one.subject, one.source_id) for one in world.datahub.metrics)
        if (
            (subjects & self._subjects) - ({vendor.id, vendor.name} if vendor is not None else set())
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
        self._row_texts = now.keys()
        self._text += text
        self._begun.append((scenario, kinds, task))
        self._same_vendor = self._same_vendor or vendor is not None
        if scenario.name == SAME_VENDOR[0] and not drawn.must_refuse:
            self._vendor = next(row for row in added.values() if isinstance(row, VendorRow) and row.id in task.subjects)
            self._vendor_kinds = kinds & {Kind.SIMILAR_NAMES}
        return True

    def finish(self, stream: Stream, features: Collection[Feature]) -> tuple[WorldBuilder, Queue]:
        """Finish the company, and return it with its queue."""
        world = self._world
        _administer(world)
        _number_events(world)
        kept = self._keep_tickets(stream.child("kept")) if Feature.KEPT_TICKETS in features else []
        finish_world(world)
        tickets = {one.key: one for one in world.ticketdesk.tickets}
        cases, complete_at = [], world.started_at
        early = count_early(len(self._begun)) if Feature.HANDOVERS in features else len(self._begun)
        for number, (scenario, kinds, task) in enumerate(self._begun):
            case, affected = task.case()
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
            entities = {**dict.fromkeys(kinds, case.ticket_key), **affected}
            found = injections(self._profile, kinds, entities)
            cases.append(Case(scenario, case, found, duplicate.key if duplicate else None, handovers))
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
        due_from = working_days_from(freeze_end(latest).date(), SPARE_WORKING_DAYS)
        remarks = Remarks()
        if self._same_vendor:
            by_name = {scenario.name: one for (scenario, *_), one in zip(self._begun, queued, strict=True)}
            invoice, change = map(by_name.__getitem__, SAME_VENDOR)
            add_bank_change(world, invoice, change, remarks)
        add_relations(world, stream.child("relations"), queued, features, due_from, remarks)
        add_assignees(world, stream.child("assignees"), queued, kept, features, remarks)
        if {Feature.CHANGED_PRIORITY, Feature.FREEZE} <= set(features):
            _change_priority(world, stream.child("priority"), queued, remarks)
        complete_at = max([complete_at, *remarks.commented_at])
        cases = [_with_remarks(one, remarks) for one in cases]
        return world, Queue(cases, closing_time(complete_at.date()), kept, remarks)

    def _keep_tickets(self, stream: Stream) -> list[TicketRow]:
        """Add the tag of the queue to open tickets of no case, let their teams keep them, and return them.

        None has the tags of a scenario: no policy would cover the work on such a ticket. One of them belongs to a team
        that gets a ticket without an assignee later, if there is such a team.
        """
        world = self._world
        later = self._begun[count_early(len(self._begun)) :]
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


def count_early(count: int) -> int:
    """Return the number of cases whose tickets are in the queue from the start if the others are handed over later."""
    return math.ceil(count * (1 - LATER_SHARE))


def _change_priority(world: WorldBuilder, stream: Stream, cases: Sequence[QueuedCase], remarks: Remarks) -> None:
    """Plan that a colleague changes the priority of a ticket that is in the queue from the start."""
    found = [one for one in cases if one.is_resolved and one.handed_over_at is None]
    if found:
        one = stream.choice(found)
        remarks.commented_at.append(plan_priority(world, stream, one.ticket, one.case.priority))
        remarks.features[one.ticket.key].add(Feature.CHANGED_PRIORITY)


def _with_remarks(case: Case, remarks: Remarks) -> Case:
    """Return a case whose assignee and end are those that comments ask for."""
    key, declared = case.case.ticket_key, case.case
    if key in remarks.takers:
        declared = replace(declared, assignee_ids=(remarks.takers[key],), needs_assignee=True)
    if key in remarks.withdrawals:
        declared = _withdrawn(declared, remarks.withdrawals[key])
    return replace(case, case=declared)


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
    """Return the reason for canceling an unnecessary ticket, and the fact behind it."""
    fact = shown(row_views.TICKETDESK, "comments", withdrawal.comment_id, "body")
    return Refusal("withdrawn", (withdrawal.key,)), fact


def _builtin_tags() -> set[frozenset[str]]:
    return {frozenset(one.tags) for name, one in eligible_scenarios(catalogue()).items() if name in builtin_names()}


def _rows(world: WorldBuilder) -> Iterator[object]:
    for document in (world.ticketdesk, world.datahub, world.approvalflow):
        for field in fields(document):
            rows = getattr(document, field.name)
            if isinstance(rows, list):
                yield from rows


def _subjects_of(rows: Collection[object]) -> set[str]:
    """Return the subjects of rows, which no two cases may share: approval types, vendors and record titles."""
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
    """Return whether a member of the ticket's team is present on its due date."""
    return bool(available_assignees(world, task.ticket.ticket.team_id, task.ticket.due_on))


def _administer(world: WorldBuilder) -> None:
    """Let the agent's team cancel requests of every type."""
    team_id = world.staff.person(world.agent_id).team_id
    for row in world.approvalflow.approval_types:
        if team_id not in row.administered_by:
            row.administered_by.append(team_id)


def _number_events(world: WorldBuilder) -> None:
    """Make the IDs of scheduled events unique across cases."""
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
