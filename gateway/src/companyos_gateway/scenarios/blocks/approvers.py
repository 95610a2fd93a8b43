"""Approvers: holders of a role and their delegates, unavailable approvers, and planned decisions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from companyos_gateway.chaos import Group, Kind
from companyos_gateway.world.approvals import add_delegation
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.calendar import closing_time, working_days_from
from companyos_gateway.world.people import EXECUTIVE, FINANCE
from companyos_gateway.world.records import rounded_amount
from companyos_gateway.world.seed_documents.approvalflow import (
    AcceptedValue,
    ApprovalTypeRow,
    FieldSpecRow,
    FieldType,
    ReactionKind,
    ReactionRow,
)
from companyos_shared.streams import Stream
from companyos_shared.wire.company import AbsenceKind, Role

ABSENCE_WORKING_DAYS = (19, 25)
"""Range of working days until the end of an approver's absence: beyond the ticket's due date."""

DELEGATION_WORKING_DAYS = (30, 45)
SLOW_MINUTES = (480, 900)
DEAD_END_KINDS: tuple[Kind, ...] = (Kind.DELEGATE_OUT_TOO, Kind.EXPIRED_DELEGATION, Kind.LIMIT_TOO_LOW)
"""Kinds of delegates who cannot decide; the first kind that applies provides the directory's deputy."""


@dataclass(frozen=True)
class ApproverChain:
    """Approvers who can decide throughout the episode, and those who are unavailable."""

    approver_ids: tuple[str, ...]
    dead_ends: dict[Kind, str]


@dataclass(frozen=True, kw_only=True)
class DecisionSpec:
    """Specification of a decision and its approvers.

    `deputy_candidates` are at least five people who could stand in; `other_types` are further types that a delegation
    may cover.
    """

    type_key: str
    role: Role
    holder_ids: Sequence[str]
    amount_cents: int
    deputy_candidates: Collection[str]
    other_types: Sequence[str]


def add_approver_chain(
    world: WorldBuilder, stream: Stream, spec: DecisionSpec, kinds: Collection[Kind]
) -> ApproverChain:
    """Add the deputies and delegates of the holders, and return the chain of approvers.

    If the holders are out of office, one delegate is always present. If an approver leaves, someone who may decide
    today is absent from the next working day on: the first holder, or a further delegate if the holders are absent
    already.
    """
    holders = list(spec.holder_ids)
    first = holders[0]
    deputy_candidates = stream.shuffled(sorted(set(spec.deputy_candidates) - {*holders, world.agent_id}))
    delegations = world.approvalflow.delegations
    world.approvalflow.delegations = [row for row in delegations if row.from_id not in holders or world.is_kept(row)]
    for holder_id in holders:
        world.remove_absences(holder_id)
    leaves = Kind.APPROVER_LEAVES in kinds
    if Kind.APPROVER_OUT_OF_OFFICE not in kinds:
        world.staff.set_deputy(first, spec.role, deputy_candidates[0])
        if leaves:
            return _let_first_holder_leave(world, stream, spec, deputy_candidates[0])
        return ApproverChain(tuple(holders), {})
    for holder_id in holders:
        _set_long_absence(world, stream, holder_id)
    delegate_id = deputy_candidates.pop()
    world.remove_absences(delegate_id)
    _delegate_enough(world, stream, spec, delegate_id)
    dead_ends = {kind: deputy_candidates.pop() for kind in DEAD_END_KINDS if kind in kinds}
    for kind, person_id in dead_ends.items():
        _add_dead_end(world, stream, spec, kind, person_id=person_id)
    if leaves:
        dead_ends[Kind.APPROVER_LEAVES] = leaver_id = deputy_candidates.pop()
        _delegate_enough(world, stream, spec, leaver_id)
        _set_long_absence(world, stream, leaver_id, from_tomorrow=True)
    deputy_id = next(iter(dead_ends.values()), delegate_id)
    world.staff.set_deputy(first, spec.role, deputy_id)
    return ApproverChain((delegate_id,), dead_ends)


def add_two_stage_approvers(
    world: WorldBuilder,
    stream: Stream,
    *,
    first: tuple[str, Role],
    last: tuple[str, Role],
    amount_cents: int,
    kinds: Collection[Kind],
) -> tuple[str, ApproverChain]:
    """Add the approvers of two stages; return the first stage's approver ID and the last stage's chain.

    `first` and `last` are approval types with roles. The first approver is never absent. The last approver is also
    their delegate, so that one person could give both approvals.
    """
    type_key, role = first
    first_id = world.staff.holders(role)[0].id
    world.remove_absences(first_id)
    last_key, last_role = last
    spec = DecisionSpec(
        type_key=last_key,
        role=last_role,
        holder_ids=sorted(one.id for one in world.staff.holders(last_role)),
        amount_cents=amount_cents,
        deputy_candidates=leads_and_finance(world) - {first_id},
        other_types=["purchase_order", "contract_renewal"],
    )
    chain = add_approver_chain(world, stream, spec, kinds)
    add_delegation(
        world,
        first_id,
        chain.approver_ids[0],
        type_keys=[type_key],
        limit_cents=None,
        starts_at=closing_time(working_days_from(world.today, -stream.integer(3, 9))),
        ends_at=closing_time(working_days_from(world.today, stream.integer(30, 40))),
    )
    return first_id, chain


def delegate_to_excluded(world: WorldBuilder, stream: Stream, holder_id: str, excluded_ids: Collection[str]) -> None:
    """Delegate an absent holder's authority to an excluded person, who must not decide despite the delegation."""
    people = [world.staff.person(person_id) for person_id in sorted({*excluded_ids} - {holder_id})]
    employed = [one.id for one in people if one.is_employed(world.today)]
    if not employed:
        return
    person_id = stream.choice(employed)
    world.remove_absences(person_id)
    starts_at = closing_time(working_days_from(world.today, -stream.integer(15, 20)))
    ends_at = closing_time(working_days_from(world.today, stream.integer(*DELEGATION_WORKING_DAYS)))
    add_delegation(world, holder_id, person_id, type_keys=[], limit_cents=None, starts_at=starts_at, ends_at=ends_at)


def affected_people(chain: ApproverChain, subject: str, role: str) -> dict[Kind, str]:
    """Return the entity that each people kind affects: an approver, the role that decides, or else the subject."""
    people = dict.fromkeys((kind for kind in Kind if kind.group is Group.PEOPLE), subject)
    return people | {Kind.APPROVER_OUT_OF_OFFICE: role} | chain.dead_ends


def plan_reactions(
    world: WorldBuilder,
    stream: Stream,
    *,
    type_key: str,
    subject: str,
    words: Mapping[str, Any],
    kinds: Collection[Kind],
    facts: Mapping[str, AcceptedValue],
) -> None:
    """Plan the decisions that differ from the honest one, in a drawn order; the decision after them is honest.

    `facts` fill the slots of the answers to questions.
    """
    questions = [*words["questions"], *([words["certificate"]] if "certificate" in words else [])]
    accepted = {question["reason"]: accepted_answers(question, facts) for question in questions}
    reactions: list[tuple[ReactionKind, dict[str, Any]]] = []
    if Kind.INFORMATION_REQUEST in kinds:
        reactions.append(("request_info", stream.choice(words["questions"])))
    if Kind.RANDOM_REJECTION in kinds:
        reactions.append(("reject", stream.choice(words["rejections"])))
    if Kind.EXPIRED_CERTIFICATE in kinds:
        reactions.append(("request_info", words["certificate"]))
    reactions = stream.shuffled(reactions)
    is_slow = not {Kind.SLOW_DECISION, Kind.APPROVER_LEAVES}.isdisjoint(kinds)
    slow = stream.integer(*SLOW_MINUTES) if is_slow else 0
    if slow and not reactions:
        reactions.append(("slow", {}))
    for n, (kind, reply) in enumerate(reactions, start=1):
        world.approvalflow.reactions.append(
            ReactionRow(
                id=f"reaction-{subject}-{n}",
                type_key=type_key,
                subject=subject,
                n=n,
                kind=kind,
                reason_code=reply.get("code"),
                reason=reply.get("reason", ""),
                accepted=accepted[reply["reason"]] if kind == "request_info" else [],
                extra_minutes=slow if n == 1 else 0,
            )
        )


def accepted_answers(question: Mapping[str, Any], facts: Mapping[str, AcceptedValue]) -> list[AcceptedValue]:
    """Return the accepted answers to a question of texts.toml, whose `answer` is one text or several."""
    answers = question["answer"]
    return [answer.format(**facts) for answer in ([answers] if isinstance(answers, str) else answers)]


def replace_approval_type(world: WorldBuilder, row: ApprovalTypeRow) -> None:
    """Add an approval type, which replaces the company's usual one with that key. Its requests remain."""
    types = world.approvalflow.approval_types
    index = next((number for number, one in enumerate(types) if one.key == row.key), len(types))
    types[index : index + 1] = [row]


def field_spec(name: str, kind: FieldType, description: str) -> FieldSpecRow:
    """Return the specification of a required field."""
    return FieldSpecRow(name=name, type=kind, required=True, description=description)


def leads_and_finance(world: WorldBuilder) -> set[str]:
    """Return the people who could stand in for an executive: Finance employees and leads of other departments."""
    leads = [world.staff.lead(team.id).id for team in world.staff.teams if team.id != EXECUTIVE]
    finance = [one.id for one in world.staff.active(FINANCE)]
    return {*leads, *finance}


def members_without_role(world: WorldBuilder, *team_ids: str) -> set[str]:
    """Return the employees of the teams who hold no role."""
    return {one.id for team_id in team_ids for one in world.staff.active(team_id) if not one.roles}


def _let_first_holder_leave(world: WorldBuilder, stream: Stream, spec: DecisionSpec, delegate_id: str) -> ApproverChain:
    """Make the first holder absent from the next working day on; a delegation to another person is in force already."""
    first = spec.holder_ids[0]
    world.remove_absences(delegate_id)
    _delegate_enough(world, stream, spec, delegate_id)
    _set_long_absence(world, stream, first, from_tomorrow=True)
    return ApproverChain((delegate_id,), {Kind.APPROVER_LEAVES: first})


def _set_long_absence(world: WorldBuilder, stream: Stream, person_id: str, *, from_tomorrow: bool = False) -> None:
    """Set a long absence that started some days ago, or starts on the next working day."""
    first_day = working_days_from(world.today, 1 if from_tomorrow else -stream.integer(1, 6))
    last_day = working_days_from(world.today, stream.integer(*ABSENCE_WORKING_DAYS))
    kind = stream.choice([AbsenceKind.VACATION, AbsenceKind.SICK, AbsenceKind.PARENTAL])
    world.set_absence(person_id, first_day=first_day, last_day=last_day, kind=kind)


def _delegate(
    world: WorldBuilder,
    stream: Stream,
    spec: DecisionSpec,
    person_id: str,
    *,
    limit_cents: int | None,
    is_over: bool = False,
) -> None:
    starts_at = closing_time(working_days_from(world.today, -stream.integer(8, 14)))
    ends_at = closing_time(working_days_from(world.today, stream.integer(*DELEGATION_WORKING_DAYS)))
    revoked_at = None
    if is_over:
        over_at = closing_time(working_days_from(world.today, -stream.integer(1, 4)))
        revoked_at = over_at if stream.chance(0.4) else None
        ends_at = ends_at if revoked_at else over_at
    add_delegation(
        world,
        spec.holder_ids[0],
        person_id,
        type_keys=stream.choice(_scopes(stream, spec)),
        limit_cents=limit_cents,
        starts_at=starts_at,
        ends_at=ends_at,
        revoked_at=revoked_at,
    )


def _scopes(stream: Stream, spec: DecisionSpec) -> Sequence[Sequence[str]]:
    own = spec.type_key
    return [[], [own], sorted([own, stream.choice(spec.other_types)])]


def _delegate_enough(
    world: WorldBuilder, stream: Stream, spec: DecisionSpec, person_id: str, *, is_over: bool = False
) -> None:
    """Delegate without a limit, or with one that the amount does not exceed."""
    limit = None if stream.chance(0.4) else spec.amount_cents + rounded_amount(stream, 0, 30_000_000)
    _delegate(world, stream, spec, person_id, limit_cents=limit, is_over=is_over)


def _add_dead_end(world: WorldBuilder, stream: Stream, spec: DecisionSpec, kind: Kind, *, person_id: str) -> None:
    world.remove_absences(person_id)
    if kind is Kind.LIMIT_TOO_LOW:
        short = spec.amount_cents - rounded_amount(stream, 500, spec.amount_cents // 2)
        _delegate(world, stream, spec, person_id, limit_cents=short)
        return
    _delegate_enough(world, stream, spec, person_id, is_over=kind is Kind.EXPIRED_DELEGATION)
    if kind is Kind.DELEGATE_OUT_TOO:
        _set_long_absence(world, stream, person_id)
