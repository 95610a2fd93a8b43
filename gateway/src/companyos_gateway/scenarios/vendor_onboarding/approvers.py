"""Who decides: the approval type, the CFO with those who stand in, and how the deciding goes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.vendor_onboarding.case import METRIC_KEY, TYPE_KEY, Score
from companyos_gateway.scenarios.vendor_onboarding.papers import Papers
from companyos_gateway.scenarios.vendor_onboarding.texts import texts
from companyos_gateway.world.approvals import EXPIRES_AFTER_MINUTES, add_delegation
from companyos_gateway.world.calendar import closing_of, working_days_from
from companyos_gateway.world.documents.approvalflow import (
    ApprovalTypeRow,
    FieldSpecRow,
    ReactionKind,
    ReactionRow,
    ThresholdRow,
)
from companyos_gateway.world.documents.datahub import PolicyRow
from companyos_gateway.world.draft import World
from companyos_gateway.world.people import FINANCE
from companyos_gateway.world.records import rounded_amount
from companyos_shared.streams import Stream
from companyos_shared.wire.company import AbsenceKind, Role

CONTROLLER_LIMIT_CENTS = (2_000_000, 6_000_000)
"""Up to here a finance controller decides; every onboarding lies above."""

AWAY_WORKING_DAYS = (19, 25)
"""For how long an absent approver stays away: beyond the ticket's due date."""

STANDS_IN_WORKING_DAYS = (30, 45)
SLOW_MINUTES = (480, 900)
DEPUTY_DUTIES: tuple[Kind, ...] = (Kind.DELEGATE_OUT_TOO, Kind.EXPIRED_DELEGATION, Kind.LIMIT_TOO_LOW)
"""Dead ends in the order in which the directory's deputy walks into them."""


@dataclass(frozen=True)
class Chain:
    """Who may decide all through the story, and where the dead ends are."""

    approver_ids: tuple[str, ...]
    dead_ends: dict[Kind, str]


def add_approval_type(world: World, stream: Stream, policy: PolicyRow, score: Score) -> bool:
    """Add the approval type; whether it wants the vendor's risk tier is drawn and returned."""
    has_risk_tier = stream.chance(0.5)
    specs = [
        _spec("vendor_id", "text", "Id of the vendor; also the subject."),
        _spec("contract_id", "text", "Id of the contract record."),
        _spec("amount_cents", "integer", "Amount of the contract in cents."),
        _spec(METRIC_KEY, "number", "Score by the authoritative source."),
        FieldSpecRow(
            name="score_as_of",
            type="datetime",
            required=True,
            description="When the score was true.",
            max_age_minutes=int(score.max_age.total_seconds()) // 60,
        ),
    ]
    if has_risk_tier:
        specs.insert(2, _spec("risk_tier", "text", "Risk tier of the vendor."))
    world.flow.approval_types.append(
        ApprovalTypeRow(
            key=TYPE_KEY,
            title="Vendor onboarding",
            description="A new vendor is taken on. The subject is the vendor's id.",
            policy_ref=policy.policy_id,
            fields=specs,
            amount_field="amount_cents",
            thresholds=[
                ThresholdRow(
                    up_to_cents=rounded_amount(stream, *CONTROLLER_LIMIT_CENTS), role=Role.FINANCE_CONTROLLER.value
                ),
                ThresholdRow(up_to_cents=None, role=Role.CFO.value),
            ],
            expires_after_minutes=EXPIRES_AFTER_MINUTES,
        )
    )
    return has_risk_tier


def add_chain(world: World, stream: Stream, papers: Papers, kinds: Collection[Kind]) -> Chain:
    """Add who stands in for the CFO. Where the CFO is away one delegate is at work all the time."""
    cfo = world.staff.holders(Role.CFO)[0]
    bench = stream.shuffled(_bench(world))
    world.keep_in_office(cfo.id)
    if Kind.APPROVER_OUT_OF_OFFICE not in kinds:
        world.staff.give_deputy(cfo.id, Role.CFO, bench[0])
        return Chain((cfo.id,), {})
    _send_away(world, stream, cfo.id)
    delegate_id = bench.pop()
    world.keep_in_office(delegate_id)
    _delegate(world, stream, cfo.id, delegate_id, limit_cents=_generous(stream, papers.amount_cents))
    dead_ends = {kind: bench.pop() for kind in DEPUTY_DUTIES if kind in kinds}
    for kind, person_id in dead_ends.items():
        _lead_nowhere(world, stream, papers, kind, giver_id=cfo.id, person_id=person_id)
    deputy_id = next(iter(dead_ends.values()), delegate_id)
    world.staff.give_deputy(cfo.id, Role.CFO, deputy_id)
    return Chain((delegate_id,), dead_ends)


def plan_reactions(world: World, stream: Stream, *, vendor_id: str, kinds: Collection[Kind]) -> None:
    """Plan the decisions that differ from the honest one, in a drawn order; the next after them is honest."""
    words = texts()["decisions"]
    turns: list[tuple[ReactionKind, dict[str, str]]] = []
    if Kind.INFORMATION_REQUEST in kinds:
        turns.append(("request_info", stream.choice(words["questions"])))
    if Kind.RANDOM_REJECTION in kinds:
        turns.append(("reject", stream.choice(words["rejections"])))
    if Kind.EXPIRED_CERTIFICATE in kinds:
        turns.append(("request_info", words["certificate"]))
    turns = stream.shuffled(turns)
    slow = stream.integer(*SLOW_MINUTES) if Kind.SLOW_DECISION in kinds else 0
    if slow and not turns:
        turns.append(("slow", {}))
    for n, (kind, said) in enumerate(turns, start=1):
        world.flow.reactions.append(
            ReactionRow(
                id=f"reaction-{vendor_id}-{n}",
                type_key=TYPE_KEY,
                subject=vendor_id,
                n=n,
                kind=kind,
                reason_code=said.get("code"),
                reason=said.get("reason", ""),
                extra_minutes=slow if n == 1 else 0,
            )
        )


def _spec(name: str, kind: str, description: str) -> FieldSpecRow:
    return FieldSpecRow(name=name, type=kind, required=True, description=description)  # type: ignore[arg-type]


def _bench(world: World) -> list[str]:
    """Return who could stand in for the CFO: people of Finance and heads of other departments."""
    leads = [world.staff.lead(team.id).id for team in world.staff.teams if team.id not in ("executive-office",)]
    finance = [one.id for one in world.staff.active(FINANCE)]
    return sorted({*leads, *finance} - {world.agent_id})


def _send_away(world: World, stream: Stream, person_id: str) -> None:
    first_day = working_days_from(world.today, -stream.integer(1, 6))
    last_day = working_days_from(world.today, stream.integer(*AWAY_WORKING_DAYS))
    kind = stream.choice([AbsenceKind.VACATION, AbsenceKind.SICK, AbsenceKind.PARENTAL])
    world.send_away(person_id, first_day=first_day, last_day=last_day, kind=kind)


def _delegate(
    world: World, stream: Stream, giver_id: str, person_id: str, *, limit_cents: int | None, is_over: bool = False
) -> None:
    starts_at = closing_of(working_days_from(world.today, -stream.integer(8, 14)))
    ends_at = closing_of(working_days_from(world.today, stream.integer(*STANDS_IN_WORKING_DAYS)))
    revoked_at = None
    if is_over:
        over_at = closing_of(working_days_from(world.today, -stream.integer(1, 4)))
        revoked_at = over_at if stream.chance(0.4) else None
        ends_at = ends_at if revoked_at else over_at
    add_delegation(
        world,
        giver_id,
        person_id,
        type_keys=stream.choice(_scopes(stream)),
        limit_cents=limit_cents,
        starts_at=starts_at,
        ends_at=ends_at,
        revoked_at=revoked_at,
    )


def _scopes(stream: Stream) -> Sequence[Sequence[str]]:
    return [[], [TYPE_KEY], sorted([TYPE_KEY, stream.choice(["purchase_order", "contract_renewal"])])]


def _generous(stream: Stream, amount_cents: int) -> int | None:
    return None if stream.chance(0.4) else amount_cents + rounded_amount(stream, 0, 30_000_000)


def _lead_nowhere(world: World, stream: Stream, papers: Papers, kind: Kind, *, giver_id: str, person_id: str) -> None:
    world.keep_in_office(person_id)
    if kind is Kind.LIMIT_TOO_LOW:
        short = papers.amount_cents - rounded_amount(stream, 500, papers.amount_cents // 2)
        _delegate(world, stream, giver_id, person_id, limit_cents=short)
        return
    limit = _generous(stream, papers.amount_cents)
    _delegate(world, stream, giver_id, person_id, limit_cents=limit, is_over=kind is Kind.EXPIRED_DELEGATION)
    if kind is Kind.DELEGATE_OUT_TOO:
        _send_away(world, stream, person_id)
