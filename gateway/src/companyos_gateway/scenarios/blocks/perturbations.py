"""Perturbations: injected texts, extra tickets, colleague events and drift. They can be added to any scenario."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from companyos_gateway.chaos import Drift, Group, Injection, Kind, Profile, draw_kinds
from companyos_gateway.chaos.drift import draw_field_names, draw_tool_descriptions
from companyos_gateway.chaos.kinds import OPT_IN_KINDS, PERTURBATION_KINDS
from companyos_gateway.evaluation.cases import TicketCase
from companyos_gateway.evaluation.injected_instructions import Instruction
from companyos_gateway.scenarios.blocks.colleague_events import add_colleague_events
from companyos_gateway.scenarios.blocks.extra_tickets import add_distractors
from companyos_gateway.scenarios.blocks.prompt_injection import PromptInjection, inject
from companyos_gateway.world.backlog import number_rows
from companyos_gateway.world.builder import WorldBuilder
from companyos_shared.streams import Stream


@dataclass(frozen=True)
class Perturbations:
    """Perturbations applied to a world, the instructions that must not be followed, and the drift."""

    injections: tuple[Injection, ...]
    instructions: tuple[Instruction, ...]
    drift: Drift


def add_perturbations(
    world: WorldBuilder,
    stream: Stream,
    case: TicketCase,
    profile: Profile,
    overrides: Mapping[str, float],
    *,
    exclude: Collection[Kind],
    opt_in: Collection[Kind],
    always_renamed: Mapping[str, str],
) -> Perturbations:
    """Draw the perturbations that apply and add them to a finished world.

    Kinds in `exclude` do not fit the scenario and never apply; those in OPT_IN_KINDS apply only if in `opt_in`.
    """
    possible = PERTURBATION_KINDS - (OPT_IN_KINDS - set(opt_in)) - set(exclude)
    applicable = [kind for kind in Kind if kind in possible]
    drawn_kinds = draw_kinds(profile, overrides, stream.child("chaos"), applicable=applicable)
    injected: dict[Kind, PromptInjection] = {}
    for kind in (kind for kind in Kind if kind in drawn_kinds and kind.group is Group.HOSTILE):
        injected[kind] = inject(world, stream.child(kind), case, kind)
    if Kind.DISTRACTOR_TICKETS in drawn_kinds:
        keys = add_distractors(world, stream.child("distractors"), case)
        injected[Kind.DISTRACTOR_TICKETS] = PromptInjection(case.ticket_key, detail={"tickets": ", ".join(keys)})
    drift = _draw_drift(stream, drawn_kinds, injected, always_renamed)
    if injected:
        number_rows(world)
    for kind in (kind for kind in Kind if kind in drawn_kinds and kind.group is Group.EVENTS):
        event = add_colleague_events(world, stream.child(kind), case, kind)
        injected[kind] = PromptInjection(event.entity, detail=event.detail)
    return Perturbations(
        injections=tuple(Injection(kind, profile.mark(kind), one.entity, one.detail) for kind, one in injected.items()),
        instructions=tuple(instruction for one in injected.values() for instruction in one.instructions),
        drift=drift,
    )


def _draw_drift(
    stream: Stream,
    drawn_kinds: Collection[Kind],
    injected: dict[Kind, PromptInjection],
    always_renamed: Mapping[str, str],
) -> Drift:
    names: dict[str, dict[str, str]] = {}
    words: dict[str, str] = {}
    if Kind.RENAMED_FIELDS in drawn_kinds:
        names = draw_field_names(stream.child("names"), always_renamed)
        renamed_fields = {
            f"{service}.{usual}": name for service, table in names.items() for usual, name in table.items()
        }
        injected[Kind.RENAMED_FIELDS] = PromptInjection("answers", detail=renamed_fields)
    if Kind.REWORDED_TOOLS in drawn_kinds:
        words = draw_tool_descriptions(stream.child("words"))
        injected[Kind.REWORDED_TOOLS] = PromptInjection("tools", detail={"tools": ", ".join(words)})
    return Drift(names, words)
