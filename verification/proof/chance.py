"""Success probabilities of adversaries that guess."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import comb
from typing import Any, cast

from companyos_approvalflow.approval_types.model import ApprovalType
from companyos_approvalflow.decisions.model import Case
from companyos_approvalflow.decisions.rules import check_may_be_asked
from companyos_approvalflow.delegations.model import Delegation
from companyos_approvalflow.seed import Seed
from companyos_gateway.chaos import profile_for
from companyos_gateway.evaluation.guessing import NOT_ENTITLED
from companyos_gateway.scenarios import Instance, catalogue
from companyos_gateway.scenarios.blocks.declared_scenario import DeclaredScenario
from companyos_players import PRIORITIES
from companyos_players.adaptive import Ask
from companyos_shared.framework import ServiceError
from verification.proof.bounds import APPROVER_TRIES
from verification.proof.episode_runner import RecordedEpisode
from verification.proof.final_states.final_state import FinalState

APPROVALFLOW, TICKETDESK = "approvalflow", "ticketdesk"


def is_priority_judged(kept: RecordedEpisode, key: str) -> bool:
    """Return whether the checks on an episode depend on a ticket's priority, with everything else unchanged."""
    return len({_failed_checks(kept, key, priority) for priority in PRIORITIES}) > 1


def _failed_checks(kept: RecordedEpisode, key: str, priority: str) -> frozenset[str]:
    final_state = FinalState(kept)
    for change in final_state.changes_of(TICKETDESK, "tickets", key):
        change["after"]["priority"] = priority
    return frozenset(one.id for one in final_state.judge().checks if not one.passed)


def approver_chance(instance: Instance, ask: Ask, people: Iterable[str]) -> float:
    """Return the probability that one of the allowed tries, in random order, names an eligible approver.

    A wrong person counts as a try only if ApprovalFlow refuses them as not entitled, and not if they are absent, for
    example.
    """
    codes = dict(refusals(instance, ask, people))
    right = sum(codes[person_id] is None for person_id in approver_ids(instance) if person_id in codes)
    wrong = sum(code in NOT_ENTITLED for code in codes.values())
    if not right or wrong < APPROVER_TRIES:
        return float(right > 0)
    return 1 - comb(wrong, APPROVER_TRIES) / comb(wrong + right, APPROVER_TRIES)


def approver_ids(instance: Instance) -> tuple[str, ...]:
    """Return the eligible approvers by the scenario's policy; ApprovalFlow may accept more."""
    scenario = cast(DeclaredScenario[Any], catalogue()[instance.scenario])
    return scenario.build(instance.seed, profile_for(instance.chaos), {}).case.approver_ids


def refusals(instance: Instance, ask: Ask, people: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """Yield each person with ApprovalFlow's error code for them as approver, or None if it accepts them."""
    case = _case(instance, ask)
    for person_id in people:
        try:
            check_may_be_asked(case, person_id, ask.at)
        except ServiceError as error:
            yield person_id, error.code
        else:
            yield person_id, None


def _case(instance: Instance, ask: Ask) -> Case:
    seed = Seed.model_validate(instance.documents[APPROVALFLOW])
    request: dict[str, Any] = {"requester_id": instance.acting_as, **ask.arguments}
    if "type_key" not in request:
        request = next(row.model_dump() for row in seed.requests if row.id == request["request_id"])
    row = next(row for row in seed.approval_types if row.key == request["type_key"])
    approval_type = ApprovalType.model_validate(row.model_dump())
    return Case(
        company=seed.company,
        approval_type=approval_type,
        delegations=[Delegation.model_validate(row) for row in seed.delegations],
        requester_id=request["requester_id"],
        amount_cents=approval_type.amount_cents(request["fields"]),
    )
