"""Approvers of two approvals, one after the other."""

from __future__ import annotations

from collections.abc import Collection

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.blocks.approvers import (
    ApproverChain,
    DecisionSpec,
    add_approver_chain,
    leads_and_finance,
)
from companyos_gateway.world.approvals import add_delegation
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.calendar import closing_time, working_days_from
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role


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
    decision_spec = DecisionSpec(
        type_key=last_key,
        role=last_role,
        holder_ids=sorted(one.id for one in world.staff.holders(last_role)),
        amount_cents=amount_cents,
        deputy_candidates=leads_and_finance(world) - {first_id},
        other_types=["purchase_order", "contract_renewal"],
    )
    chain = add_approver_chain(world, stream, decision_spec, kinds)
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
