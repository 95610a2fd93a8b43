"""Project proposals that compete for one budget line: the rules of valid selections, and the best selection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from companyos_gateway.scenarios import kit

COUNT = 8
"""The number of proposals that compete."""

LOW_SCORED = 2
"""The number of proposals that are drawn with a low review score and a low cost."""

CATEGORIES = ("automation", "compliance", "customer_service", "sustainability")
COST_STEP_CENTS, COST_PERCENT, LOW_COST_PERCENT = 50_000, (40, 90), (20, 40)
"""Step of costs in cents; the number of steps is about this percentage of the review score."""

SCORES, LOW_SCORES, SCORE_LIMITS = (33, 98), (26, 30), (31, 36)
BONUS_POINTS, CAPS, NO_CAP = (15, 30), (1, 2), (4, 5)
AVAILABLE_PERCENT, AMOUNTS_TRIED = range(40, 63), 8
"""Possible available amounts, in percent of the cost of all eligible proposals, and the number of amounts tried."""

DEPENDENCIES = 2


class Variant(StrEnum):
    """Variant of the case: which rules besides the available amount decide what the best selection is."""

    AMOUNT = "amount"
    TEAMS = "teams"
    DEPENDENCIES = "dependencies"
    TEAMS_AND_DEPENDENCIES = "teams_and_dependencies"

    @property
    def is_capped(self) -> bool:
        """Return whether the limit per team matters."""
        return self in (Variant.TEAMS, Variant.TEAMS_AND_DEPENDENCIES)

    @property
    def has_dependencies(self) -> bool:
        """Return whether dependencies matter."""
        return self in (Variant.DEPENDENCIES, Variant.TEAMS_AND_DEPENDENCIES)


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A proposal, with the id of the one that it depends on."""

    id: str
    cost_cents: int
    score: int
    category: str
    team_id: str
    depends_on: str | None = None


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The available amount, and the rules of a policy version about selections."""

    available_cents: int
    least_score: int
    most_per_team: int
    bonus_category: str
    bonus_points: int

    def points(self, proposal: Proposal) -> int:
        """Return the points of a proposal: its review score and the bonus for its category."""
        return proposal.score + (self.bonus_points if proposal.category == self.bonus_category else 0)

    def find_breach(self, selected: Sequence[Proposal]) -> str | None:
        """Return the rule that a selection breaks, in words; None if it is valid."""
        ids = {one.id for one in selected}
        if not selected:
            return "nothing is selected"
        if any(one.score < self.least_score for one in selected):
            return f"a review score is below {self.least_score}"
        if sum(one.cost_cents for one in selected) > self.available_cents:
            return "the total cost exceeds the available amount"
        if max(Counter(one.team_id for one in selected).values()) > self.most_per_team:
            return f"more than {self.most_per_team} proposals come from one team"
        if any(one.depends_on is not None and one.depends_on not in ids for one in selected):
            return "a proposal is selected without the one that it depends on"
        return None


def best_selection(proposals: Sequence[Proposal], rules: Rules) -> frozenset[str] | None:
    """Return the ids of the best selection: the most points, then the lowest cost. None if several are the best."""
    selections = _Selections(proposals, rules)
    best = selections.best(selections.affordable(rules.available_cents))
    return None if best is None else frozenset(one.id for place, one in enumerate(proposals) if best >> place & 1)


class _Selections:
    """The selections that keep every rule but the available amount, as masks in which the bits of proposals are set."""

    def __init__(self, proposals: Sequence[Proposal], rules: Rules) -> None:
        self._costs, self._points = [0], [0]
        for one in proposals:
            own = rules.points(one)
            self._costs += [cost + one.cost_cents for cost in self._costs]
            self._points += [points + own for points in self._points]
        bits = {one.id: 1 << place for place, one in enumerate(proposals)}
        low = sum(bits[one.id] for one in proposals if one.score < rules.least_score)
        teams = [
            sum(bits[one.id] for one in proposals if one.team_id == team) for team in {p.team_id for p in proposals}
        ]
        needs = [(bits[one.id], bits[one.depends_on]) for one in proposals if one.depends_on is not None]
        masks = [mask for mask in range(1, len(self._costs)) if not mask & low]
        for team in teams:
            if team.bit_count() > rules.most_per_team:
                masks = [mask for mask in masks if (mask & team).bit_count() <= rules.most_per_team]
        for child, parent in needs:
            masks = [mask for mask in masks if mask & parent or not mask & child]
        self._masks = masks

    def affordable(self, available_cents: int) -> list[int]:
        """Return the selections whose total cost is at most the available amount."""
        return [mask for mask in self._masks if self._costs[mask] <= available_cents]

    def best(self, masks: Sequence[int]) -> int | None:
        """Return the one with the most points, then the lowest cost; None if there are several or none."""
        ranks = [(self._points[mask], -self._costs[mask]) for mask in masks]
        if not ranks or ranks.count(max(ranks)) > 1:
            return None
        return masks[ranks.index(max(ranks))]


def draw_proposals(
    stream: kit.Stream, variant: Variant, team_ids: Sequence[str]
) -> tuple[list[Proposal], Rules, Rules]:
    """Draw proposals, the rules in force and other rules, such that every shortcut selects something else."""
    while True:
        proposals = _draw(stream, variant, team_ids)
        least_score = stream.integer(*SCORE_LIMITS)
        cost = sum(one.cost_cents for one in proposals if one.score >= least_score)
        category, other_category = stream.sample(CATEGORIES, 2)
        rules = Rules(
            available_cents=cost,
            least_score=least_score,
            most_per_team=stream.integer(*(CAPS if variant.is_capped else NO_CAP)),
            bonus_category=category,
            bonus_points=stream.integer(*BONUS_POINTS),
        )
        other_least = stream.integer(*LOW_SCORES)
        selections = _Selections(proposals, rules)
        for percent in stream.sample(AVAILABLE_PERCENT, AMOUNTS_TRIED):
            available = cost * percent // 100 // COST_STEP_CENTS * COST_STEP_CENTS
            in_force = replace(rules, available_cents=available)
            others = replace(in_force, bonus_category=other_category, least_score=other_least)
            if _is_decisive(proposals, selections, in_force, others, variant):
                return proposals, in_force, others


def _draw(stream: kit.Stream, variant: Variant, team_ids: Sequence[str]) -> list[Proposal]:
    teams = stream.sample(team_ids, 4)
    drawn = []
    for number in range(COUNT):
        score = stream.integer(*(LOW_SCORES if number < LOW_SCORED else SCORES))
        cost = score * stream.integer(*(LOW_COST_PERCENT if number < LOW_SCORED else COST_PERCENT)) // 100
        drawn.append(
            Proposal(
                id=str(number),
                cost_cents=COST_STEP_CENTS * cost,
                score=score,
                category=stream.choice(CATEGORIES),
                team_id=stream.choice(teams),
            )
        )
    for _ in range(DEPENDENCIES if variant.has_dependencies else 0):
        child, parent = stream.sample(range(LOW_SCORED, COUNT), 2)
        if drawn[parent].depends_on is None:
            drawn[child] = replace(drawn[child], depends_on=str(parent))
    return drawn


def _is_decisive(
    proposals: Sequence[Proposal], selections: _Selections, rules: Rules, others: Rules, variant: Variant
) -> bool:
    """Return whether there is one best selection, and every shortcut and the other rules lead to another one."""
    valid = selections.affordable(rules.available_cents)
    best = selections.best(valid)
    if best is None:
        return False
    if not variant.is_capped and best.bit_count() == max(mask.bit_count() for mask in valid):
        return False  # taking as many projects as possible would be enough
    keys: list[Callable[[Proposal], float]] = [
        rules.points,
        lambda one: rules.points(one) / one.cost_cents,
        lambda one: -one.cost_cents,
        lambda one: one.score,
    ]
    if any(_is_first_fit(best, set(valid), proposals, [key(one) for one in proposals]) for key in keys):
        return False
    in_force = best_selection(proposals, rules)
    ignoring = [others, replace(rules, bonus_points=0)]
    ignoring += [replace(rules, most_per_team=COUNT)] if variant.is_capped else []
    free = [replace(one, depends_on=None) for one in proposals] if variant.has_dependencies else None
    return all(best_selection(proposals, one) not in (None, in_force) for one in ignoring) and (
        free is None or best_selection(free, rules) not in (None, in_force)
    )


def _is_first_fit(best: int, valid: Collection[int], proposals: Sequence[Proposal], keys: Sequence[float]) -> bool:
    """Return whether a greedy choice of proposals by descending key may lead to the best selection.

    Whatever the order of equal keys, it does not if a selected proposal comes before the one that it depends on, or if
    one that is not selected fits in addition to those that come before it.
    """
    key_of = {one.id: key for one, key in zip(proposals, keys, strict=True)}
    selected = [place for place in range(len(proposals)) if best >> place & 1]
    for place in selected:
        parent = proposals[place].depends_on
        if parent is not None and keys[place] > key_of[parent]:
            return False
    for place, key in enumerate(keys):
        earlier = sum(1 << other for other in selected if keys[other] >= key)
        if not best >> place & 1 and earlier | 1 << place in valid:
            return False
    return True
