"""Policy versions: the figures of each version, of which the one in force counts, and the priorities they require."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from companyos_gateway.chaos import Kind
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.policies import PolicyHead, PolicyText, add_policy
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_gateway.world.seed_documents.ticketdesk import Priority
from companyos_gateway.world.text_templates import join_words
from companyos_shared.streams import Stream

Figures = dict[str, Any]
"""The figures of a policy version by the name of their slot in its text."""

PRIORITIES: tuple[Priority, ...] = ("low", "medium", "high", "critical")
ANNOUNCED_DAYS = (45, 120)
"""Range of days until an announced version of a policy takes effect."""

CENTS_STEP = 1_000_000
"""Limits of amounts are multiples of 10,000 in the currency, unless a scenario uses smaller ones."""


def add_policy_versions(
    world: WorldBuilder,
    stream: Stream,
    *,
    titles: Sequence[str],
    topic: str,
    body: Callable[[Figures], str],
    in_force: Figures,
    superseded: Callable[[Stream], Figures],
    kinds: Collection[Kind],
) -> PolicyRow:
    """Add a policy, with earlier and announced versions if those kinds apply; return the version in force.

    It replaces the company's usual policy on the topic, if there is one, and takes over its ID.
    """
    versions = [PolicyText(body(in_force), in_force)]
    for _ in range(stream.integer(1, 2) if Kind.SUPERSEDED_POLICY in kinds else 0):
        parameters = superseded(stream)
        versions.insert(0, PolicyText(body(parameters), parameters))
    head = PolicyHead(_policy_id(world, topic), stream.choice(titles), topic)
    current = add_policy(world, stream, head, versions)[-1]
    if Kind.ANNOUNCED_POLICY in kinds:
        own = stream.child("announced")
        parameters = superseded(own)
        _announce(world, own, current, PolicyText(body(parameters), parameters))
    return current


LIMITS_PER_AMOUNT = 10
"""Limits of priorities are at least a tenth of the amount apart, unless the steps are larger."""


def priority_clauses(priorities: Mapping[str, Priority], clause: str) -> str:
    """Return the priorities as part of a sentence that names each priority once, the lowest first.

    `clause` has the slots `priority` and `names`, such as "{priority} for {names}".
    """
    names = {level: [name for name, one in priorities.items() if one == level] for level in PRIORITIES}
    clauses = [clause.format(priority=level, names=join_words(of, "or")) for level, of in names.items() if of]
    return join_words(clauses)


def priority_limits(
    stream: Stream, amount: int, level: Priority, *, step: int = CENTS_STEP, unit: str = "_cents"
) -> Figures:
    """Draw the minimum amounts of medium, high and critical priority, such that the amount has the given level.

    Return them as figures of a policy: `medium_from_cents`, `high_from_cents`, `critical_from_cents`.
    """
    level_index = PRIORITIES.index(level)
    steps = amount // step
    gap = max(1, steps // LIMITS_PER_AMOUNT)
    down, up = steps - stream.integer(0, 2 * gap), steps + stream.integer(gap, 4 * gap)
    below: list[int] = []
    above: list[int] = []
    for _ in range(level_index):
        below.insert(0, down)
        down -= stream.integer(gap, 2 * gap)
    for _ in range(len(PRIORITIES) - 1 - level_index):
        above.append(up)
        up += stream.integer(gap, 9 * gap)
    return {f"{name}_from{unit}": limit * step for name, limit in zip(PRIORITIES[1:], below + above, strict=True)}


RATE_STEP, RATE_ROOM = 2, (14, 16)
"""Step of limits above a threshold, and distance from another version's threshold, in errors per 1,000 requests."""


def rate_figures(
    stream: Stream, name: str, threshold: int, rate: int, level: Priority, *, lowest: int, in_force: bool
) -> Figures:
    """Return a threshold in errors per 1,000 requests, the figure `name`, and the limits of priorities above it.

    In versions that are not in force, the rate reaches the threshold: they accept cases that have to be refused, and
    give another priority to those that are accepted. A rate below the threshold in force counts as `lowest`.
    """
    counted = max(rate, lowest)
    if not in_force:
        room, is_refused = stream.integer(*RATE_ROOM), rate < threshold
        threshold = stream.integer(1, rate) if is_refused else max(1, rate - room)
        counted = threshold + room if is_refused else rate
    above = priority_limits(stream, counted - threshold, level, step=RATE_STEP, unit="_errors")
    return {**{limit: threshold + one for limit, one in above.items()}, name: threshold}


def limit_step(amount: int) -> int:
    """Return a step for limits near an amount: one digit followed by zeros, at most a twelfth of the amount."""
    most = max(1, amount // 12)
    digits = str(most)
    return min(int(digits[0]), 5) * int("1" + "0" * (len(digits) - 1))


def priority_of_amount(amount: int, limits: Sequence[int], *, raised: bool = False) -> Priority:
    """Return the priority of an amount, one level up if `raised` is set."""
    level = sum(1 for limit in limits if amount >= limit) + (1 if raised else 0)
    return PRIORITIES[min(level, len(PRIORITIES) - 1)]


def draw_other_priority(stream: Stream, level: Priority) -> Priority:
    """Draw another priority."""
    return stream.choice([one for one in PRIORITIES if one != level])


def _announce(world: WorldBuilder, stream: Stream, current: PolicyRow, text: PolicyText) -> None:
    """Add the version after the current one; it takes effect after all tasks of today are due."""
    first_day = world.today + timedelta(days=stream.integer(*ANNOUNCED_DAYS))
    world.datahub.policies.append(
        replace(
            current,
            id=f"{current.policy_id}-v{current.version + 1}",
            version=current.version + 1,
            body=text.filled(),
            parameters=dict(text.parameters),
            effective_from=first_day,
        )
    )
    current.effective_to = first_day - timedelta(days=1)


def _policy_id(world: WorldBuilder, topic: str) -> str:
    policies, kept = world.datahub.policies, world.task_policy_ids
    usual = [row for row in policies if row.topic == topic and row.policy_id not in kept]
    world.datahub.policies = [row for row in policies if row not in usual]
    policy_id = usual[0].policy_id if usual else world.free_policy_ids.pop()
    world.task_policy_ids.add(policy_id)
    return policy_id
