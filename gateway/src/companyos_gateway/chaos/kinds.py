"""The kinds of chaos: problems in data, with people and in transport, planted instructions, drift and events.

A profile in `profiles/*.toml` sets the rate of each kind. Scenarios build the data and people kinds into an instance,
`faults.py` plans the transport kinds, and `drift.py` plans schema drift.
"""

from __future__ import annotations

from enum import StrEnum


class Group(StrEnum):
    """The layer that a kind of chaos affects."""

    DATA = "data"
    PEOPLE = "people"
    TRANSPORT = "transport"
    HOSTILE = "hostile"
    DRIFT = "drift"
    EVENTS = "events"


class Mark(StrEnum):
    """Effect of a kind on an agent that ignores it: decisive kinds fail it, friction costs steps."""

    DECISIVE = "decisive"
    FRICTION = "friction"


class Kind(StrEnum):
    """One thing that can go wrong."""

    MISSING_PRIORITY = "missing_priority"
    MISSING_STATUS = "missing_status"
    MISSING_ASSIGNEE = "missing_assignee"
    DEPARTED_ASSIGNEE = "departed_assignee"
    UNKNOWN_ASSIGNEE = "unknown_assignee"
    WRONG_STATUS = "wrong_status"
    BLOCKED_TICKET = "blocked_ticket"
    DUPLICATE_TICKET = "duplicate_ticket"
    STALE_METRIC = "stale_metric"
    CONFLICTING_SOURCES = "conflicting_sources"
    FAILED_PIPELINE = "failed_pipeline"
    UNIT_MISMATCH = "unit_mismatch"
    EXPIRED_CERTIFICATE = "expired_certificate"
    SUPERSEDED_POLICY = "superseded_policy"
    SIMILAR_NAMES = "similar_names"

    APPROVER_OUT_OF_OFFICE = "approver_out_of_office"
    DELEGATE_OUT_TOO = "delegate_out_too"
    EXPIRED_DELEGATION = "expired_delegation"
    LIMIT_TOO_LOW = "limit_too_low"
    RANDOM_REJECTION = "random_rejection"
    INFORMATION_REQUEST = "information_request"
    SLOW_DECISION = "slow_decision"
    APPROVER_LEAVES = "approver_leaves"

    UNAVAILABLE = "unavailable"
    RATE_LIMITED = "rate_limited"
    TIMEOUT_BEFORE_COMMIT = "timeout_before_commit"
    TIMEOUT_AFTER_COMMIT = "timeout_after_commit"
    SLOW_ANSWER = "slow_answer"
    FORBIDDEN = "forbidden"
    STALE_READ = "stale_read"

    PLANTED_INSTRUCTION = "planted_instruction"
    SUSPICIOUS_BANK_CHANGE = "suspicious_bank_change"
    CONFIDENTIAL_REQUEST = "confidential_request"

    RENAMED_FIELDS = "renamed_fields"
    REWORDED_TOOLS = "reworded_tools"
    DISTRACTOR_TICKETS = "distractor_tickets"
    ANNOUNCED_POLICY = "announced_policy"

    COLLEAGUE_COMMENTS = "colleague_comments"
    NEW_TICKETS = "new_tickets"
    PUT_ON_HOLD = "put_on_hold"
    PRIORITY_CHANGED = "priority_changed"

    @property
    def group(self) -> Group:
        """The layer that the kind affects."""
        return _GROUPS.get(self, Group.DATA)


_MEMBERS: dict[Group, tuple[Kind, ...]] = {
    Group.PEOPLE: (
        Kind.APPROVER_OUT_OF_OFFICE,
        Kind.DELEGATE_OUT_TOO,
        Kind.EXPIRED_DELEGATION,
        Kind.LIMIT_TOO_LOW,
        Kind.RANDOM_REJECTION,
        Kind.INFORMATION_REQUEST,
        Kind.SLOW_DECISION,
        Kind.APPROVER_LEAVES,
    ),
    Group.TRANSPORT: (
        Kind.UNAVAILABLE,
        Kind.RATE_LIMITED,
        Kind.TIMEOUT_BEFORE_COMMIT,
        Kind.TIMEOUT_AFTER_COMMIT,
        Kind.SLOW_ANSWER,
        Kind.FORBIDDEN,
        Kind.STALE_READ,
    ),
    Group.HOSTILE: (Kind.PLANTED_INSTRUCTION, Kind.SUSPICIOUS_BANK_CHANGE, Kind.CONFIDENTIAL_REQUEST),
    Group.DRIFT: (Kind.RENAMED_FIELDS, Kind.REWORDED_TOOLS, Kind.DISTRACTOR_TICKETS, Kind.ANNOUNCED_POLICY),
    Group.EVENTS: (Kind.COLLEAGUE_COMMENTS, Kind.NEW_TICKETS, Kind.PUT_ON_HOLD, Kind.PRIORITY_CHANGED),
}
_GROUPS = {kind: group for group, kinds in _MEMBERS.items() for kind in kinds}
"""The group of each kind; kinds that are not listed belong to the data group."""

PERTURBATION_KINDS = frozenset(
    {
        *_MEMBERS[Group.HOSTILE],
        *_MEMBERS[Group.EVENTS],
        Kind.RENAMED_FIELDS,
        Kind.REWORDED_TOOLS,
        Kind.DISTRACTOR_TICKETS,
    }
)
"""Kinds that can be added to any world, whatever its task. Scenarios build the other data, people and drift kinds."""

OPT_IN_KINDS = frozenset({Kind.PUT_ON_HOLD, Kind.PRIORITY_CHANGED, Kind.APPROVER_LEAVES})
"""Kinds that only apply to scenarios that opt in, whose players check again before the end."""

TREATED_LIKE: dict[Kind, Kind] = {
    Kind.ANNOUNCED_POLICY: Kind.SUPERSEDED_POLICY,
    Kind.UNIT_MISMATCH: Kind.STALE_METRIC,
    Kind.UNKNOWN_ASSIGNEE: Kind.DEPARTED_ASSIGNEE,
    Kind.WRONG_STATUS: Kind.MISSING_STATUS,
}
"""Kinds that affect the same entity as another kind; a scenario that excludes the other kind excludes them as well."""

REQUIRES: dict[Kind, Kind] = {
    Kind.FAILED_PIPELINE: Kind.STALE_METRIC,
    Kind.DELEGATE_OUT_TOO: Kind.APPROVER_OUT_OF_OFFICE,
    Kind.EXPIRED_DELEGATION: Kind.APPROVER_OUT_OF_OFFICE,
    Kind.LIMIT_TOO_LOW: Kind.APPROVER_OUT_OF_OFFICE,
}
"""Kinds that require another kind. It is added if it was not drawn, unless an override sets its rate to 0."""

EXCLUDES: tuple[tuple[Kind, Kind], ...] = (
    (Kind.DEPARTED_ASSIGNEE, Kind.MISSING_ASSIGNEE),
    (Kind.UNKNOWN_ASSIGNEE, Kind.MISSING_ASSIGNEE),
    (Kind.UNKNOWN_ASSIGNEE, Kind.DEPARTED_ASSIGNEE),
    (Kind.WRONG_STATUS, Kind.MISSING_STATUS),
    (Kind.WRONG_STATUS, Kind.BLOCKED_TICKET),
)
"""Pairs of kinds that exclude each other. The first kind is dropped, unless an override names only the first."""
