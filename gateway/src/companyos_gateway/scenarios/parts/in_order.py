"""Approvals in order: their types under one policy, and who gives one before the last."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.parts.deciders import Chain, Deciding, add_chain, leads_and_finance, put_type
from companyos_gateway.world.approvals import EXPIRES_AFTER_MINUTES, add_delegation
from companyos_gateway.world.calendar import closing_of, working_days_from
from companyos_gateway.world.documents.approvalflow import ApprovalTypeRow, FieldSpecRow, ThresholdRow
from companyos_gateway.world.documents.datahub import PolicyRow
from companyos_gateway.world.draft import World
from companyos_shared.streams import Stream
from companyos_shared.wire.company import Role


def put_stage(
    world: World,
    policy: PolicyRow,
    *,
    key: str,
    title: str,
    description: str,
    fields: Sequence[FieldSpecRow],
    thresholds: Sequence[ThresholdRow],
    amount_field: str | None = None,
) -> None:
    """Add the approval type of one stage."""
    put_type(
        world,
        ApprovalTypeRow(
            key=key,
            title=title,
            description=description,
            policy_ref=policy.policy_id,
            fields=list(fields),
            amount_field=amount_field,
            thresholds=list(thresholds),
            expires_after_minutes=EXPIRES_AFTER_MINUTES,
        ),
    )


def add_chain_of_two(
    world: World,
    stream: Stream,
    *,
    first: tuple[str, Role],
    last: tuple[str, Role],
    amount_cents: int,
    kinds: Collection[Kind],
) -> tuple[str, Chain]:
    """Add who decides at each of two stages, given by type and role; return who gives the first, and the last's chain.

    The one who holds the first role is at work all the time. Whoever decides last stands in for them as well, so that
    one person could give both approvals.
    """
    type_key, role = first
    first_id = world.staff.holders(role)[0].id
    world.keep_in_office(first_id)
    last_key, last_role = last
    deciding = Deciding(
        type_key=last_key,
        role=last_role,
        holder_ids=sorted(one.id for one in world.staff.holders(last_role)),
        amount_cents=amount_cents,
        bench=leads_and_finance(world) - {first_id},
        other_types=["purchase_order", "contract_renewal"],
    )
    chain = add_chain(world, stream, deciding, kinds)
    add_delegation(
        world,
        first_id,
        chain.approver_ids[0],
        type_keys=[type_key],
        limit_cents=None,
        starts_at=closing_of(working_days_from(world.today, -stream.integer(3, 9))),
        ends_at=closing_of(working_days_from(world.today, stream.integer(30, 40))),
    )
    return first_id, chain
