"""Unrest: what goes on around a task whatever it is about. It is laid over a staged world, so every scenario has it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from companyos_gateway.chaos import Drift, Group, Injection, Kind, Profile, draw_kinds
from companyos_gateway.chaos.drift import draw_names, draw_words
from companyos_gateway.chaos.kinds import ASKED_FOR, LAID_OVER
from companyos_gateway.rubrics.cases import DeskCase
from companyos_gateway.rubrics.minefields import Minefields
from companyos_gateway.scenarios.parts.colleagues import add_happenings
from companyos_gateway.scenarios.parts.distractors import add_distractors
from companyos_gateway.scenarios.parts.hostile import Planted, confidential_values, plant
from companyos_gateway.world.backlog import number_rows
from companyos_gateway.world.draft import World
from companyos_shared.streams import Stream


@dataclass(frozen=True)
class Unrest:
    """What was laid over a world, and what it forbids."""

    injections: tuple[Injection, ...]
    minefields: Minefields
    drift: Drift


def add_unrest(
    world: World,
    stream: Stream,
    case: DeskCase,
    profile: Profile,
    overrides: Mapping[str, float],
    *,
    without: Collection[Kind] = (),
    also: Collection[Kind] = (),
) -> Unrest:
    """Lay over a staged world what strikes of it, but for the kinds that mean nothing in the scenario.

    Of those that have to be asked for, the ones in `also` strike.
    """
    spared = (ASKED_FOR - set(also)) | set(without)
    applicable = [kind for kind in Kind if kind in LAID_OVER - spared]
    struck = draw_kinds(profile, overrides, stream.child("chaos"), applicable=applicable)
    planted: dict[Kind, Planted] = {}
    for kind in (kind for kind in Kind if kind in struck and kind.group is Group.HOSTILE):
        planted[kind] = plant(world, stream.child(kind), case, kind)
    if Kind.DISTRACTOR_TICKETS in struck:
        keys = add_distractors(world, stream.child("distractors"), case)
        planted[Kind.DISTRACTOR_TICKETS] = Planted(case.ticket_key, detail={"tickets": ", ".join(keys)})
    drift = _draw_drift(stream, struck, planted)
    number_rows(world)
    for kind in (kind for kind in Kind if kind in struck and kind.group is Group.EVENTS):
        happened = add_happenings(world, stream.child(kind), case, kind)
        planted[kind] = Planted(happened.entity, detail=happened.detail)
    return Unrest(
        injections=tuple(Injection(kind, profile.mark(kind), one.entity, one.detail) for kind, one in planted.items()),
        minefields=Minefields([order for one in planted.values() for order in one.orders], confidential_values(world)),
        drift=drift,
    )


def _draw_drift(stream: Stream, struck: Collection[Kind], planted: dict[Kind, Planted]) -> Drift:
    names: dict[str, dict[str, str]] = {}
    words: dict[str, str] = {}
    if Kind.RENAMED_FIELDS in struck:
        names = draw_names(stream.child("names"))
        told = {f"{service}.{usual}": name for service, table in names.items() for usual, name in table.items()}
        planted[Kind.RENAMED_FIELDS] = Planted("answers", detail=told)
    if Kind.REWORDED_TOOLS in struck:
        words = draw_words(stream.child("words"))
        planted[Kind.REWORDED_TOOLS] = Planted("tools", detail={"tools": ", ".join(words)})
    return Drift(names, words)
