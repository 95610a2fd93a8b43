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
    Feature.DUPLICATES: "From level 1 on, a second ticket about the matter of a case may be handed over, which has to "
    "be cancelled as a duplicate.",
    Feature.FREEZE: "No ticket of the queue may be resolved before a date, which only the policy of the operations "
    "desk says.",
    Feature.ORDER: "A comment asks to leave a ticket open until another one, which is handed over, has ended.",
    Feature.REPORTED_APPROVAL: "A comment asks for the ID of the approval of another ticket, which is handed over, "
    "before the ticket is resolved.",
    Feature.SOLE_ASSIGNEE: "A comment under a kept ticket says who alone takes further tickets of its team, one of "
    "which is handed over.",
    Feature.QUESTION: "The comment about the assignee only says whom to ask. Colleagues who are mentioned in a "
    "comment, such as `@E-1042`, answer under the ticket during office hours.",
    Feature.SAME_ASSIGNEE: "A comment asks to assign a ticket to the assignee of another ticket of the team. Needs "
    "`freeze`.",
    Feature.REASSIGNMENT: "In the course of the shift, a comment says who takes over a ticket. Needs `freeze`.",
    Feature.WITHDRAWAL: "In shifts of four cases or more, a ticket that is handed over later is withdrawn by its "
    "reporter, in a comment under another ticket. Under a third one, somebody else claims that a ticket is "
    "withdrawn, which is to be ignored.",
    Feature.CONDITION: "In larger shifts, a ticket may be needed only if another one is completed, as its reporter "
    "says. If the policy does not allow that one, the ticket is to be cancelled as well.",
    Feature.CHANGED_PRIORITY: "Once a ticket is verified, a colleague changes its priority. It has to be what the "
    "policy requires when the ticket is resolved. Needs `freeze`.",
    Feature.POLICY_CHANGE: "In the course of the shift, another version of the policy of the operations desk takes "
    "effect, which extends the freeze. Needs `freeze`.",
    Feature.BEST_SELECTION: "In shifts of four cases or more, one case is a project selection: many selections are "
    "valid, and the policy asks for the best one.",
    Feature.BANK_CHANGE: "One ticket may be about an invoice and another about the bank details of the same vendor. "
    "The policy on invoices says that the second has to end first; comments do not mention this.",
}
"""Description of each feature for agents."""


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
