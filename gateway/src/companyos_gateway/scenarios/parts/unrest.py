"""Unrest: what goes on around a task whatever it is about. It is laid over a staged world, so every scenario has it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from companyos_gateway.chaos import Group, Injection, Kind, Profile, draw_kinds
from companyos_gateway.rubrics.cases import DeskCase
from companyos_gateway.rubrics.minefields import Minefields
from companyos_gateway.scenarios.parts.hostile import Planted, confidential_values, plant
from companyos_gateway.world.backlog import number_rows
from companyos_gateway.world.draft import World
from companyos_shared.streams import Stream

GROUPS = (Group.HOSTILE,)
"""The groups whose kinds are laid over a staged world."""


@dataclass(frozen=True)
class Unrest:
    """What was laid over a world, and what it forbids."""

    injections: tuple[Injection, ...]
    minefields: Minefields


def add_unrest(
    world: World,
    stream: Stream,
    case: DeskCase,
    profile: Profile,
    overrides: Mapping[str, float],
    *,
    without: Collection[Kind] = (),
) -> Unrest:
    """Lay over a staged world what strikes of it, but for the kinds that mean nothing in the scenario."""
    applicable = [kind for kind in Kind if kind.group in GROUPS and kind not in without]
    struck = draw_kinds(profile, overrides, stream.child("chaos"), applicable=applicable)
    planted: dict[Kind, Planted] = {
        kind: plant(world, stream.child(kind), case, kind) for kind in Kind if kind in struck
    }
    number_rows(world)
    orders = [order for one in planted.values() for order in one.orders]
    return Unrest(
        injections=tuple(Injection(kind, profile.mark(kind), one.entity, one.detail) for kind, one in planted.items()),
        minefields=Minefields(orders, confidential_values(world)),
    )
