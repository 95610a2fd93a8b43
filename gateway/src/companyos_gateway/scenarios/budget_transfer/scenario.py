"""Budget transfers: one request for the whole amount, earlier partial requests ended, both lines booked afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from enum import StrEnum
from functools import partial

from companyos_gateway.scenarios import kit

TYPE_KEY = "budget_transfer"
CONTROLLER_LIMIT_STEP_CENTS, CONTROLLER_LIMIT_STEPS = 50_000, (30, 50)
"""Step in cents of the limit up to which a finance controller decides, and its range in steps."""

SMALL_SHARES, LARGE_SHARES = (40, 95), (130, 270)
"""Amounts in percent of that limit, by who decides about them."""

RESERVE_STEP_CENTS, RESERVE_STEPS = 10_000, (20, 90)
"""Step in cents of the reserve, and its range in steps."""

MAX_SPARE_CENTS = 2_000_000
NATURES = ("operating", "capital")
PRIORITY_STEP_CENTS, MIN_CENTS = 50_000, 500
WINDOW_DAYS, OLDEST_DAYS = (5, 8), 14
"""Range of days in which requests for a transfer are parts of it, and maximum age of open ones, before they expire."""


class Variant(StrEnum):
    """Variant of the case: earlier partial requests by the requester, by colleagues, by both or none."""

    WHOLE = "whole"
    OWN_PARTS = "own_parts"
    OTHERS_PARTS = "others_parts"
    BOTH = "both"


class RefusalGround(StrEnum):
    """Ground for refusing a transfer; the value is the policy's reason code."""

    TOO_LITTLE = "requirement_not_met"
    MIXED = "policy_violation"
    NOT_THE_OWNER = "not_entitled"


@dataclass(frozen=True, kw_only=True)
class Transfer:
    """A transfer from `giver` to `taker`. It leaves `left_cents` in the giver's line, which must cover the reserve."""

    variant: Variant
    ground: RefusalGround | None
    giver: kit.RecordRow
    taker: kit.RecordRow
    lookalike: kit.RecordRow | None
    reporter_id: str
    amount_cents: int
    limit_cents: int
    left_cents: int
    reserve_cents: int
    own_parts: tuple[kit.RequestRow, ...] = ()
    """Earlier requests of the agent for parts of the amount."""
    others_parts: tuple[kit.RequestRow, ...] = ()

    @property
    def role(self) -> kit.Role:
        """The role that decides."""
        return kit.Role.FINANCE_CONTROLLER if self.amount_cents <= self.limit_cents else kit.Role.CFO


class BudgetTransfer(kit.DeclaredScenario[Transfer]):
    """Transfer budget between two lines: end partial requests, get the whole amount approved, and update both lines."""

    name, team, topic, max_steps = "budget_transfer", kit.FINANCE, "transfers", 150
    tags, duplicate_tags, precise_citation = ("budget", "transfer"), ("budget",), "title"
    held_out = frozenset({Variant.BOTH.value})
    always = (kit.Kind.MISSING_PRIORITY, kit.Kind.APPROVER_OUT_OF_OFFICE)
    applicable = kit.buildable_kinds(exclude=(*kit.METRIC_KINDS, kit.Kind.EXPIRED_CERTIFICATE))
    distractors = (
        "datahub_report_data_issue",
        "ticketdesk_create_ticket",
        "approvalflow_create_delegation",
        "approvalflow_escalate_approval",
    )
    tools = (*kit.USUAL_TOOLS, "approvalflow_cancel_approval")

    def draw(self, build: kit.BuildContext) -> Transfer:
        """Add the two lines, and one that is similar to the source line."""
        stream, staff = build.stream, build.world.staff
        ground, variant = build.draw_ground(RefusalGround), stream.choice(list(Variant))
        limit = CONTROLLER_LIMIT_STEP_CENTS * stream.integer(*CONTROLLER_LIMIT_STEPS)
        reserve = RESERVE_STEP_CENTS * stream.integer(*RESERVE_STEPS)
        low, high = stream.choice((SMALL_SHARES, LARGE_SHARES)) if variant is Variant.WHOLE else LARGE_SHARES
        amount = kit.rounded_amount(stream, limit * low // 100, limit * high // 100)
        left = reserve + kit.rounded_amount(stream, 0, MAX_SPARE_CENTS)
        if ground is RefusalGround.TOO_LITTLE:
            left = kit.rounded_amount(stream, RESERVE_STEP_CENTS, reserve - MIN_CENTS)
        owners = [one.id for one in staff.active() if one.team_id not in (kit.FINANCE, kit.EXECUTIVE)]
        owner_id, other_owner_id, unrelated_person_id = stream.sample(owners, 3)
        nature, other_nature = stream.shuffled(NATURES)
        purpose, other_purpose = stream.sample(self.texts()["purposes"], 2)
        file_line = partial(build.file_budget_line, state="active", days=(10, 60))
        giver = file_line(purpose, owner_id=owner_id, free_cents=amount + left, nature=nature)
        taker_nature = other_nature if ground is RefusalGround.MIXED else nature
        taker_free = kit.rounded_amount(stream, 0, MAX_SPARE_CENTS)
        taker = file_line(other_purpose, owner_id=other_owner_id, free_cents=taker_free, nature=taker_nature)
        return Transfer(
            variant=variant,
            ground=ground,
            giver=giver,
            taker=taker,
            lookalike=build.copy_budget_line(giver),
            reporter_id=unrelated_person_id if ground is RefusalGround.NOT_THE_OWNER else owner_id,
            amount_cents=amount,
            limit_cents=limit,
            left_cents=left,
            reserve_cents=reserve,
        )

    def slots(self, facts: Transfer) -> Mapping[str, str]:
        """Return the lines and the amount."""
        giver, taker = facts.giver, facts.taker
        return {
            "giver": giver.id,
            "taker": taker.id,
            "giver_title": giver.title,
            "taker_title": taker.title,
            "title": taker.title,
            "giver_center": giver.fields["cost_center"],
            "taker_center": taker.fields["cost_center"],
            "amount": f"{facts.amount_cents // 100:,}",
        }

    def answers(self, build: kit.BuildContext, facts: Transfer) -> Mapping[str, kit.AcceptedValue]:
        """Return the cost center of the target line and the budget of the source line."""
        budget_cents = facts.giver.fields["budget_cents"]
        return {
            "taker_center": facts.taker.fields["cost_center"],
            "giver_budget_cents": budget_cents,
            "giver_budget": f"{budget_cents / 100:.2f}",
        }

    def reporter_id(self, facts: Transfer) -> str:
        """Return the person who ordered the transfer: the owner of the source line, or someone not entitled to."""
        return facts.reporter_id

    def figures(self, facts: Transfer, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw the limits of priorities, the reserve and the window; the latter two differ in other versions."""
        reserve, left_steps = facts.reserve_cents, facts.left_cents // RESERVE_STEP_CENTS
        if not in_force and facts.ground is RefusalGround.TOO_LITTLE:
            reserve = RESERVE_STEP_CENTS * stream.integer(1, left_steps)
        elif not in_force:
            reserve = RESERVE_STEP_CENTS * (left_steps + stream.integer(*RESERVE_STEPS))
        return {
            **kit.priority_limits(stream, facts.amount_cents, priority, step=PRIORITY_STEP_CENTS),
            "reserve_cents": reserve,
            "window_days": stream.integer(*WINDOW_DAYS) if in_force else stream.choice([2, 14]),
        }

    def complete(self, build: kit.BuildContext, facts: Transfer, policy: kit.PolicyRow, slot: kit.KeySlot) -> Transfer:
        """Add earlier requests: parts of the transfer, and some to another line, in the other direction or too old."""
        world, stream, giver, taker = build.world, build.stream, facts.giver, facts.taker
        ordered_on, window_days = slot.created_at.date(), policy.parameters["window_days"]
        recent, old = _working_days(ordered_on, 1, window_days), _working_days(ordered_on, window_days + 2, OLDEST_DAYS)
        first_open = build.today - timedelta(minutes=kit.EXPIRES_AFTER_MINUTES) + timedelta(days=1)
        oldest = min(day for day in old if day >= first_open)
        colleagues = [one.id for one in world.staff.active(kit.FINANCE) if not one.roles and one.id != world.agent_id]
        own: list[kit.RequestRow] = []
        others: list[kit.RequestRow] = []
        for number, amount in enumerate([] if facts.variant is Variant.WHOLE else _draw_parts(stream, facts)):
            is_own = facts.variant is Variant.OWN_PARTS or (facts.variant is Variant.BOTH and number % 2 == 0)
            requester_id = world.agent_id if is_own else stream.choice(colleagues)
            part = _file_request(build, (giver, taker), amount, requester_id, stream.choice(recent))
            (own if is_own else others).append(part)
        lines = [row for row in world.datahub.records if row.kind == "budget_line" and row not in (giver, taker)]
        other_line = facts.lookalike or stream.choice(lines)
        for pair, days in (((giver, other_line), recent), ((taker, giver), recent), ((giver, taker), old)):
            amount = kit.rounded_amount(stream, MIN_CENTS, facts.limit_cents)
            requester_id, day = stream.choice(colleagues), stream.choice(days)
            _file_request(build, pair, amount, requester_id, max(day, oldest))
        kit.number_requests(world, stream)
        return replace(facts, own_parts=tuple(own), others_parts=tuple(others))

    def thresholds(self, facts: Transfer, stream: kit.Stream, request: kit.Request) -> kit.Thresholds:
        """Return the limit of finance controllers; the CFO decides above it."""
        return [(facts.limit_cents, kit.Role.FINANCE_CONTROLLER), (None, kit.Role.CFO)]

    def solution(self, facts: Transfer, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """End the parts; then book the whole amount after its approval, or refuse."""
        giver, taker, amount = facts.giver, facts.taker, facts.amount_cents
        refs = kit.policy_refs(policy)
        withdrawn = [kit.RequestWithdrawn(one.id) for one in facts.own_parts]
        reason = kit.Refusal(RefusalGround.MIXED.value, refs)
        parts = kit.EntityGoals(
            "parts_ended", [*withdrawn, *(kit.RequestCancelled(one.id, reason) for one in facts.others_parts)]
        )
        request = kit.Request(
            type_key=TYPE_KEY,
            subject=ticket_key,
            role=facts.role,
            amount_cents=amount,
            fields=kit.request_fields(from_line=giver.id, to_line=taker.id, amount_cents=amount),
        )
        column = "owner_id" if facts.ground is RefusalGround.NOT_THE_OWNER else "fields"
        compared = [giver.id, taker.id] if facts.ground is RefusalGround.MIXED else [giver.id]
        booked = {giver.id: giver.fields["budget_cents"] - amount, taker.id: taker.fields["budget_cents"] + amount}
        outcome = kit.Outcome(
            requests=(request,),
            prepared=(parts,) if parts.goals else (),
            goals=tuple(
                kit.RecordGoal(record_id=line, fields={"budget_cents": budget}) for line, budget in booked.items()
            ),
            facts=tuple(kit.record_shown(line, column) for line in compared),
            subjects=(giver.id, taker.id),
        )
        against_ids: dict[RefusalGround | None, tuple[str, ...]] = {
            RefusalGround.TOO_LITTLE: (giver.id,),
            RefusalGround.NOT_THE_OWNER: (facts.reporter_id,),
        }
        return kit.Solution(
            variant=facts.variant,
            outcome=outcome,
            refusal=kit.refusal_for(facts.ground, policy, *against_ids.get(facts.ground, ())),
            affected={kit.Kind.SIMILAR_NAMES: (facts.lookalike or giver).id},
        )


def _file_request(
    build: kit.BuildContext, lines: tuple[kit.RecordRow, kit.RecordRow], amount_cents: int, requester_id: str, day: date
) -> kit.RequestRow:
    """File a request for a transfer between two lines, which waits for an answer from its requester."""
    world, stream, words = build.world, build.stream, kit.load_texts(__file__)["requests"]
    source, target = lines
    return kit.add_request(
        build,
        type_key=TYPE_KEY,
        subject=f"{source.id}-{target.id}-{len(world.approvalflow.requests)}",
        fields={"from_line": source.id, "to_line": target.id, "amount_cents": amount_cents},
        requester_id=requester_id,
        approver_id=stream.choice(world.staff.holders(kit.Role.FINANCE_CONTROLLER)).id,
        status="info_requested",
        justification=stream.choice(words["justifications"]),
        submitted_at=kit.draw_office_time(stream, day),
        approver_reply=stream.choice(words["questions"]),
        expires_after_minutes=kit.EXPIRES_AFTER_MINUTES,
    )


def _draw_parts(stream: kit.Stream, facts: Transfer) -> list[int]:
    """Split the amount into parts of about the same size, each within the limit of a finance controller."""
    left, limit = facts.amount_cents // MIN_CENTS, facts.limit_cents // MIN_CENTS
    count = -(-left // limit) + stream.integer(0, 1)
    parts = []
    for further in reversed(range(count)):
        average = left // (further + 1)
        low, high = max(average * 3 // 4, left - further * limit), min(average * 5 // 4, limit)
        part = stream.integer(low, high) if further else left
        parts.append(part * MIN_CENTS)
        left -= part
    return parts


def _working_days(before: date, least: int, most: int) -> list[date]:
    """Return the working days that are `least` to `most` calendar days before a day."""
    days = [before - timedelta(days=count) for count in range(least, most + 1)]
    return [day for day in days if kit.is_working_day(day)]


SCENARIO = BudgetTransfer()
