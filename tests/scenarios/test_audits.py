"""Audits: whoever may decide about a request that is escalated has not asked for it."""

from __future__ import annotations

import pytest

from companyos_gateway.chaos import profile_for
from companyos_gateway.proof.players.oracles import clairvoyant_of
from companyos_gateway.scenarios.audit_remediation.case import NAME, Breach
from companyos_gateway.scenarios.audit_remediation.scenario import stage
from companyos_gateway.scenarios.solutions import solutions_of
from tests.scenarios.stage import PlayAll, Wanted

DELEGATE_ASKED = (168, 208, 387)
"""Seeds in which who stands in would have been drawn as one of those who ask."""


@pytest.mark.parametrize(("seed", "level"), [*((seed, 1) for seed in DELEGATE_ASKED), *((n, 4) for n in range(40))])
def test_who_may_decide_today_has_not_asked(seed: int, level: int) -> None:
    staged = stage(seed, profile_for(level), {})
    world, now = staged.world, staged.world.started_at
    holder_ids = {person.id for person in world.staff.holders(staged.case.role)}
    amounts = {one.request_id: one.amount_cents for one in staged.case.remedied if one.breach is Breach.WRONG_HANDS}
    away = {one.person_id for one in world.absences if one.first_day <= world.today <= one.last_day}
    assert amounts
    for request in world.flow.requests:
        if request.id not in amounts:
            continue
        standing_in = {
            row.to_id
            for row in world.flow.delegations
            if row.from_id in holder_ids
            and row.starts_at <= now < row.ends_at
            and row.revoked_at is None
            and (row.limit_cents is None or row.limit_cents >= amounts[request.id])
            and (not row.type_keys or request.type_key in row.type_keys)
            and row.to_id not in away
        }
        assert request.requester_id not in standing_in | set(staged.case.approver_ids)
        subject = next(record for record in world.hub.records if record.id == request.subject)
        assert subject.owner_id == request.requester_id


@pytest.mark.parametrize("seed", DELEGATE_ASKED)
def test_both_oracles_solve_it_where_others_ask_instead(seed: int, play_all: PlayAll) -> None:
    for player in (solutions_of(NAME).fair, clairvoyant_of(NAME, seed, 1)):
        (kept,) = play_all([Wanted(scenario=NAME, player=player, seed=seed, chaos=1)])
        assert kept.played.success, kept.played.trouble
