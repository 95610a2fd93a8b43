"""Shifts: several cases of declared scenarios in one company, worked by one agent on one clock.

A shift is named `shift-<size>`, whose cases the seed draws, or `shift-<scenario>-<scenario>...`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace

from companyos.contract import SHIFT_PREFIX, SHIFT_SIZES, CompanySize, split_company_size
from companyos_gateway.chaos import FaultPlan, Injection, Kind, Profile, profile_for
from companyos_gateway.evaluation import TaskRubric
from companyos_gateway.evaluation.injection_checks import InjectionChecks
from companyos_gateway.evaluation.shift_rubric import shift_rubric
from companyos_gateway.scenarios.api import Instance, Scenario
from companyos_gateway.scenarios.blocks.chaos_draws import transport_injections
from companyos_gateway.scenarios.blocks.declared_scenario import DeclaredScenario
from companyos_gateway.scenarios.blocks.prompt_injection import confidential_values
from companyos_gateway.scenarios.catalogue import builtin_names
from companyos_gateway.scenarios.shift_cases import (
    SAME_VENDOR,
    AnyScenario,
    Queue,
    ShiftCases,
    count_early,
    eligible_scenarios,
)
from companyos_gateway.scenarios.shift_features import Feature, compose_brief, draw_features
from companyos_gateway.scenarios.shift_policy import Demands, add_desk_policy
from companyos_gateway.world import WorldBuilder, generate_world
from companyos_gateway.world.absences import shorten_absences
from companyos_gateway.world.base_company import find_base_company
from companyos_gateway.world.builder import BaseCompany
from companyos_shared.streams import Stream, digest

MAX_STEPS = 1_000
STEP_SHARE = 0.8
"""Share of the cases' own step limits that a shift allows, up to MAX_STEPS."""

MIN_CASES_WITH_BEST = 4
"""Minimum number of cases in shifts with a case that has a best answer, or two cases about one vendor."""

SAME_VENDOR_SHARE = 0.5
"""Share of these shifts that include both scenarios about one vendor."""

_MAX_COMPANIES = 10
_MAX_ATTEMPTS = 100
"""Attempts to add a case, per company."""

_PATIENCE = 15
"""Failed attempts in a row after which some of the cases are dropped."""


class ShiftError(ValueError):
    """Raised for an invalid shift name, with the accepted ones, or if no cases fit together."""


def find_scenario(scenarios: Mapping[str, Scenario], name: str) -> Scenario | None:
    """Return the scenario or shift of a name, which may end with a company size; None if there is none.

    Raises ShiftError for an invalid shift.
    """
    short, size = (name, CompanySize.SMALL) if name in scenarios else split_company_size(name)
    is_shift = short.startswith(SHIFT_PREFIX) and short not in scenarios
    found = _parse_shift(scenarios, short) if is_shift else scenarios.get(short)
    if size is CompanySize.SMALL or not isinstance(found, (DeclaredScenario, Shift)):
        return found if size is CompanySize.SMALL else None
    return SizedScenario(name, found.held_out, found, size)


@dataclass
class SizedScenario:
    """A scenario or shift in a company of another size."""

    name: str
    held_out: frozenset[str]
    scenario: AnyScenario | Shift
    size: CompanySize

    def plan(self, seed: int, chaos: int, overrides: Mapping[str, float] | None = None) -> Instance:
        """Plan the instance of a seed and level. Raises the errors of the scenario."""
        sized = copy(self.scenario)
        sized.base = find_base_company(self.size)
        return replace(sized.plan(seed, chaos, overrides), scenario=self.name)


def _in_effect(injections: Sequence[Injection], world: WorldBuilder) -> Iterator[Injection]:
    """Leave out the absences of delegates whom later cases need, and who are therefore present."""
    absent_ids = {one.person_id for one in world.absences}
    for one in injections:
        if one.kind is not Kind.DELEGATE_OUT_TOO or one.entity in absent_ids:
            yield one


def _parse_shift(scenarios: Mapping[str, Scenario], name: str) -> Shift:
    eligible = eligible_scenarios(scenarios)
    requested = name.removeprefix(SHIFT_PREFIX).split("-")
    if len(requested) == 1 and requested[0] in SHIFT_SIZES:
        drawn_from = sorted(eligible.keys() & builtin_names())  # so that installed packages do not change shifts
        return Shift(name, tuple(eligible[one] for one in drawn_from), SHIFT_SIZES[requested[0]])
    if unknown := [one for one in requested if one not in eligible]:
        raise ShiftError(
            f"{unknown[0]!r} is neither a size ({', '.join(SHIFT_SIZES)}) nor a scenario that a shift can have "
            f"({', '.join(sorted(eligible))})"
        )
    if twice := [one for one, count in Counter(requested).items() if count > 1]:
        raise ShiftError(f"{twice[0]!r} occurs more than once; a shift has one case of a scenario at most")
    if len(requested) < 2:
        raise ShiftError(
            f"a shift has at least two cases, such as {SHIFT_PREFIX}{requested[0]}-{min({*eligible} - {*requested})}"
        )
    return Shift(name, tuple(eligible[one] for one in requested), len(requested))


@dataclass
class Shift:
    """Several cases in one episode, which are judged case by case and as a whole."""

    name: str
    scenarios: tuple[AnyScenario, ...]
    """The scenarios that cases are drawn from."""
    count: int
    """The number of cases."""
    held_out: frozenset[str] = frozenset()
    base: BaseCompany | None = None
    """The other offices of a larger company; None for a small one."""

    def plan(self, seed: int, chaos: int, overrides: Mapping[str, float] | None = None) -> Instance:
        """Plan the shift of a seed and chaos level. Raises ShiftError if no cases fit together, and ChaosError."""
        stream, profile = Stream(self.name, seed), profile_for(chaos)
        features, overrides = draw_features(stream.child("features"), overrides or {})
        world, queue = self._build(stream, profile, overrides, features)
        shorten_absences(world)
        cases = queue.cases
        demands = Demands(
            keeps_tickets=Feature.KEPT_TICKETS in features,
            has_remarks=bool(queue.remarks.commented_at),
            has_withdrawals=bool(queue.remarks.withdrawals or queue.remarks.conditions or queue.remarks.disputed),
            has_duplicates=Feature.DUPLICATES in features,
        )
        frozen_until = add_desk_policy(world, stream.child("policy"), demands, features, queue.complete_at)
        general = features & {Feature.FREEZE, Feature.POLICY_CHANGE} if frozen_until is not None else frozenset()
        company, faults = world.company(), FaultPlan.from_profile(profile, overrides, self.name, seed)

        def build_rubric() -> TaskRubric:
            judged = {one.case.ticket_key: one.judged(company, general, queue.remarks) for one in cases}
            added = InjectionChecks(confidential=confidential_values(world, [one.case for one in cases]))
            rubric = shift_rubric(
                judged,
                agent_id=world.agent_id,
                frozen_until=frozen_until,
                kept=[one.key for one in queue.kept],
                kept_feature=Feature.KEPT_TICKETS,
            )
            return rubric.with_checks(added.checks(), added.damage, added.check_declaration)

        documents = world.documents(draw_seed=digest([self.name, seed]))
        tools = (tool for one in cases for tool in one.scenario.offered_tools(seed))
        steps = sum(one.scenario.max_steps for one in cases)
        name = world.staff.person(world.agent_id).name
        return Instance(
            scenario=self.name,
            seed=seed,
            chaos=chaos,
            brief=compose_brief(
                features,
                name=name,
                company=world.company_name,
                complete_at=queue.complete_at,
                has_remarks=demands.has_remarks,
            ),
            company_name=world.company_name,
            acting_as=world.agent_id,
            started_at=world.started_at,
            max_steps=min(MAX_STEPS, round(STEP_SHARE * steps)),
            documents=documents,
            task_tools=tuple(dict.fromkeys(tools)),
            variant="shift",
            faults=faults,
            rubric=build_rubric(),
            build_rubric=build_rubric,
            injections=tuple(_in_effect([found for one in cases for found in one.injections], world))
            + transport_injections(profile, faults),
        )

    def _build(
        self, stream: Stream, profile: Profile, overrides: Mapping[str, float], features: Collection[Feature]
    ) -> tuple[WorldBuilder, Queue]:
        """Build a company with the cases. If no cases fit together in a company, another one is drawn."""
        for number in range(_MAX_COMPANIES):
            cases = self._draw_cases(stream.child("company", number), profile, overrides, features)
            if cases is not None:
                return cases.finish(stream.child("queue"), features)
        raise ShiftError(f"{self.name}: no cases were found that fit together")

    def _draw_cases(
        self, stream: Stream, profile: Profile, overrides: Mapping[str, float], features: Collection[Feature]
    ) -> ShiftCases | None:
        """Draw the cases one after the other; None if they do not fit together in this company.

        A case that conflicts with another is drawn again. After some failures in a row, half of the cases are dropped.
        """
        drawn: list[tuple[AnyScenario, Stream]] = []
        scenarios, placed = self._place(stream, features)
        cases, failures = ShiftCases(generate_world(stream.child("world"), self.base), profile, overrides), 0
        for attempt in range(_MAX_ATTEMPTS):
            own, names = stream.child("attempt", attempt), {one.name for one, _ in drawn}
            choices = placed.get(len(drawn), scenarios)
            case = own.choice([one for one in choices if one.name not in names]), own.child("case")
            if cases.add(*case, shares=Feature.BANK_CHANGE in features):
                drawn.append(case)
                failures = 0
                if len(drawn) == self.count:
                    return cases
                continue
            failures += 1
            if failures == _PATIENCE:
                failures, drawn = 0, drawn[: len(drawn) // 2]
            cases = ShiftCases(generate_world(stream.child("world"), self.base), profile, overrides)
            for one in drawn:
                cases.add(*one, shares=Feature.BANK_CHANGE in features)
        return None

    def _place(
        self, stream: Stream, features: Collection[Feature]
    ) -> tuple[list[AnyScenario], Mapping[int, list[AnyScenario]]]:
        """Return the scenarios to draw from, and by position those of the cases that features require.

        Shifts of named scenarios use exactly these, regardless of their features.
        """
        if self.count == len(self.scenarios):
            return list(self.scenarios), {}
        best = [one for one in self.scenarios if one.has_best_answer]
        others = [one for one in self.scenarios if not one.has_best_answer]
        placed: dict[int, list[AnyScenario]] = {}
        if self.count < MIN_CASES_WITH_BEST:
            return others, placed
        if best and Feature.BEST_SELECTION in features:
            placed[stream.child("best").integer(0, self.count - 1)] = best
        if Feature.BANK_CHANGE in features and stream.child("vendor").chance(SAME_VENDOR_SHARE):
            early = count_early(self.count)
            for name, half in zip(SAME_VENDOR, (range(early), range(early, self.count)), strict=True):
                free = [position for position in half if position not in placed]
                placed[stream.child("vendor", name).choice(free)] = [one for one in others if one.name == name]
            others = [one for one in others if one.name not in SAME_VENDOR]
        return others, placed
