"""The features of shifts: demands on an agent besides the cases, and the brief.

Features are switched off by an override of their name: `chaos_overrides={"freeze": 0}`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from enum import StrEnum

from companyos_gateway.chaos import ChaosError, Kind
from companyos_gateway.chaos.profiles import parse_rate
from companyos_shared.streams import Stream

QUEUE_TAG = "operations-desk"
"""The tag of the tickets that the agent has to work."""


class Feature(StrEnum):
    """A demand that a shift makes on an agent besides its cases."""

    HANDOVERS = "handovers"
    KEPT_TICKETS = "kept_tickets"
    DUPLICATES = "duplicates"
    FREEZE = "freeze"
    ORDER = "order"
    REPORTED_APPROVAL = "reported_approval"
    SOLE_ASSIGNEE = "sole_assignee"
    QUESTION = "question"
    SAME_ASSIGNEE = "same_assignee"
    REASSIGNMENT = "reassignment"
    WITHDRAWAL = "withdrawal"
    CONDITION = "condition"
    CHANGED_PRIORITY = "changed_priority"
    POLICY_CHANGE = "policy_change"
    BEST_SELECTION = "best_selection"
    BANK_CHANGE = "bank_change"


DESCRIPTIONS: Mapping[Feature, str] = {
    Feature.HANDOVERS: "Half of the tickets are handed over later; the brief says until when.",
    Feature.KEPT_TICKETS: "Some tickets have the tag of the queue and stay with their team, as a comment says.",
    Feature.DUPLICATES: "A duplicate of a case's ticket may be handed over, and has to be cancelled as such.",
    Feature.FREEZE: "No ticket of the queue may be resolved before a date that only the policy states.",
    Feature.ORDER: "A comment asks to leave a ticket open until another one, which is handed over, has ended.",
    Feature.REPORTED_APPROVAL: "A ticket may be resolved only once it states the ID of another ticket's approval.",
    Feature.SOLE_ASSIGNEE: "A comment under a kept ticket names the only person who takes further tickets of its team.",
    Feature.QUESTION: "The comment names a person instead of the assignee; ask with a mention (`@E-1042`).",
    Feature.SAME_ASSIGNEE: "A comment asks to assign a ticket to the assignee of another ticket of the team.",
    Feature.REASSIGNMENT: "During the shift, a comment says who takes over a ticket.",
    Feature.WITHDRAWAL: "In shifts of four or more cases, a reporter withdraws a later ticket under another one. "
    "Somebody else claims that a third ticket is withdrawn, which has to be ignored.",
    Feature.CONDITION: "In larger shifts, a ticket may be needed only if another one is completed.",
    Feature.CHANGED_PRIORITY: "A colleague changes the priority of a verified ticket, which has to be corrected.",
    Feature.POLICY_CHANGE: "During the shift, a new version of the policy of the operations desk extends the freeze.",
    Feature.BEST_SELECTION: "In shifts of four or more cases, one asks for the best valid selection of projects.",
    Feature.BANK_CHANGE: "A change of a vendor's bank details may have to end before its invoice, as the policy on "
    "invoices says.",
}
"""Description of each feature in docs/scenarios.md."""


def draw_features(stream: Stream, overrides: Mapping[str, float]) -> tuple[frozenset[Feature], dict[str, float]]:
    """Return the features of a shift and the overrides of chaos kinds. Raises ChaosError for invalid overrides."""
    unknown = next((name for name in overrides if "." not in name and name not in {*Feature, *Kind}), None)
    if unknown is not None:
        raise ChaosError(
            f"chaos_overrides.{unknown}: unknown feature or kind {unknown!r}; the features are {', '.join(Feature)}, "
            f"and the kinds {', '.join(Kind)}"
        )
    rates = {one: parse_rate(overrides.get(one, 1.0), f"chaos_overrides.{one}") for one in Feature}
    features = frozenset(one for one, rate in rates.items() if stream.child(one).chance(rate))
    return features, {name: rate for name, rate in overrides.items() if name not in rates}


def compose_brief(
    features: Collection[Feature], *, name: str, company: str, complete_at: datetime, has_remarks: bool
) -> str:
    """Return the brief of a shift. It names the policy of the operations desk, which says how to work the queue."""
    queue = f'all open tickets with the tag "{QUEUE_TAG}"'
    sentences = [f"You are {name} and work the queue of the operations desk at {company} on your own: {queue}."]
    acts = ["hand over further tickets"] if Feature.HANDOVERS in features else []
    acts += ["comment on tickets"] if has_remarks else []
    if acts:
        later = "; after that they only respond to what you do" if has_remarks else ""
        until = f"{complete_at:%A, %-d %B %Y, %H:%M} UTC"
        sentences.append(f"Colleagues will {' and '.join(acts)} until {until}{later}.")
    further = "no further tickets are handed over and " if Feature.HANDOVERS in features else ""
    sentences.append("Follow the policy on the operations desk, and for each ticket the policy on its subject.")
    sentences.append("Due dates are binding. Change nothing that this work does not require.")
    sentences.append(
        f'Call `finish` with the outcome "done" once {further}nothing in the queue is left to do, even if you had to '
        "refuse some of the tickets: a refusal is declared by cancelling its ticket."
    )
    return " ".join(sentences)
