"""The policy of a shift's operations desk: how to work the queue, and the freeze. It may change during the shift."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from companyos_gateway.scenarios.shift_features import QUEUE_TAG, Feature
from companyos_gateway.world import WorldBuilder
from companyos_gateway.world.calendar import closing_time, format_time, working_days_from
from companyos_gateway.world.policies import PolicyHead, PolicyText, add_policy, format_policy_body
from companyos_gateway.world.splits import split_of
from companyos_shared.streams import Stream

DESK_TOPIC, DESK_TITLE = "operations", "Operations desk"

FREEZE_WORKING_DAYS = 5
"""Working days after the last handover during which no ticket of the queue may be resolved."""

ANNOUNCED_FREEZE_WORKING_DAYS = 3
"""The same number in the version of the policy that is in force at first, if the policy changes."""

CHANGE_WORKING_DAYS = (1, 2)
"""Range of working days after the last handover until the policy changes, which is before the first freeze ends."""


@dataclass(frozen=True)
class Demands:
    """The demands on an agent that the policy states."""

    keeps_tickets: bool
    """Whether teams keep some of the tickets in the queue."""
    has_remarks: bool
    """Whether colleagues comment on tickets of the queue."""
    has_withdrawals: bool
    has_duplicates: bool


def freeze_end(complete_at: datetime, days: int = FREEZE_WORKING_DAYS) -> datetime:
    """Return the end of the freeze, before which no ticket may be completed: some days after the last handover."""
    return closing_time(working_days_from(complete_at.date(), days))


def add_desk_policy(
    world: WorldBuilder,
    stream: Stream,
    demands: Demands,
    features: Collection[Feature],
    complete_at: datetime,
) -> datetime | None:
    """Add the policy, in two versions if it changes during the shift, and return the end of the freeze, if any.

    The second version is in force before the freeze of the first one ends, and extends it.
    """
    ends: list[datetime | None] = [freeze_end(complete_at) if Feature.FREEZE in features else None]
    if {Feature.FREEZE, Feature.POLICY_CHANGE} <= set(features):
        ends.insert(0, freeze_end(complete_at, ANNOUNCED_FREEZE_WORKING_DAYS))
    texts = [_write_policy(demands, end) for end in ends]
    [current] = add_policy(world, stream, PolicyHead(world.free_policy_ids.pop(), DESK_TITLE, DESK_TOPIC), texts[:1])
    for text in texts[1:]:
        first_day = working_days_from(complete_at.date(), stream.integer(*CHANGE_WORKING_DAYS))
        current.effective_to = first_day - timedelta(days=1)
        current = replace(
            current,
            id=f"{current.policy_id}-v{current.version + 1}",
            version=current.version + 1,
            body=format_policy_body(text.body, split_of(stream)),
            parameters=dict(text.parameters),
            effective_from=first_day,
            effective_to=None,
        )
        world.datahub.policies.append(current)
    return ends[-1]


def _write_policy(demands: Demands, frozen_until: datetime | None) -> PolicyText:
    kept = ", unless a comment says that their team keeps them" if demands.keeps_tickets else ""
    sections: dict[str, list[str]] = {"Queue": [], "Unnecessary tickets": [], "Completion": []}
    queue, unnecessary, completion = sections.values()
    queue.append(
        f'The operations desk works all open tickets with the tag "{QUEUE_TAG}", whichever team owns them{kept}.'
    )
    queue.append(
        "A ticket is brought to the status that the policy on its subject requires, such as resolved, or cancelled "
        "with the reason code and the reference that this policy asks for."
    )
    if demands.has_remarks:
        queue.append(
            "The desk does what a team asks for in a comment under one of its tickets in the queue, or under a ticket "
            "that blocks one of these, unless a policy in force says otherwise."
        )
    if demands.has_withdrawals:
        unnecessary.append(
            "Only the person who reported a ticket can withdraw it, or say that it is needed only if another one goes "
            "ahead. They do so in a comment under any ticket in the queue."
        )
        unnecessary.append(
            "A withdrawn ticket in the queue is cancelled without any other work on it or on the tickets that block "
            "it, even if a comment asks for such work."
        )
    if demands.has_duplicates:
        unnecessary.append(
            "A ticket in the queue about the same matter as an older ticket in the queue is just cancelled, as a "
            "duplicate of the older one."
        )
    if frozen_until is not None:
        completion.append(
            "The archive of completed tickets is being migrated. No ticket in the queue may be resolved or closed "
            f"before {frozen_until:%A, %-d %B %Y, %H:%M} UTC."
        )
    parts = []
    for number, (title, clauses) in enumerate(((title, found) for title, found in sections.items() if found), start=1):
        parts += [f"{number}. {title}", *(f"{number}.{n} {one}" for n, one in enumerate(clauses, start=1)), ""]
    return PolicyText(
        "\n".join(parts).strip(), {} if frozen_until is None else {"completion_from": format_time(frozen_until)}
    )
