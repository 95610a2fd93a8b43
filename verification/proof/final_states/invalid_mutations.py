"""All invalid final states of a task: each changes a correct one in one place."""

from __future__ import annotations

from typing import Any

from companyos_gateway.evaluation import FinishDeclaration
from verification.proof.episode_runner import RecordedEpisode
from verification.proof.final_states.final_state import FinalState
from verification.proof.final_states.honest_mutations import dishonest_mutations
from verification.proof.final_states.mutations import (
    APPROVALFLOW,
    DATAHUB,
    TICKETDESK,
    Mutation,
    NamedMutations,
    OracleRun,
    declare,
    near_values,
    required_causes,
)
from verification.proof.final_states.request_mutations import (
    delegation_mutations,
    existing_request_mutations,
    request_mutations,
)
from verification.proof.final_states.row_mutations import record_mutations, ticket_mutations, unrelated_row_mutations


def invalid_mutations(kept: RecordedEpisode, foreign: RecordedEpisode) -> NamedMutations:
    """Yield every mutation that must be rejected, by name; `foreign` is the final state of another seed."""
    oracle_run = OracleRun(kept)
    yield from ticket_mutations(oracle_run)
    yield from request_mutations(oracle_run)
    yield from existing_request_mutations(oracle_run)
    yield from delegation_mutations(oracle_run)
    yield from dishonest_mutations(oracle_run)
    yield from record_mutations(oracle_run)
    yield from unrelated_row_mutations(oracle_run)
    yield from path_mutations(oracle_run, foreign)
    yield from declaration_mutations(oracle_run)


def path_mutations(oracle_run: OracleRun, foreign: RecordedEpisode) -> NamedMutations:
    """Yield the final state without a required write, with a forbidden order, or of another seed."""
    for cause in required_causes(oracle_run.kept):
        yield f"without {cause}", _without(cause)
    if oracle_run.approved():
        yield "ended before the approval", _first(TICKETDESK, "tickets", oracle_run.key, oracle_run.ticket["status"])
        for net in (net for net in oracle_run.changed(DATAHUB, "records") if _followed_approval(oracle_run, net.key)):
            yield f"record {net.key} before the approval", _first(DATAHUB, "records", net.key, None)
    yield "another seed's end", _of_another(foreign)


def declaration_mutations(oracle_run: OracleRun) -> NamedMutations:
    """Yield the final state with other declarations."""
    right = oracle_run.kept.finish
    for outcome in ("done", "refused", "impossible"):
        if (right is None and outcome != "done") or (right is not None and right.outcome != outcome):
            yield f"declared: {outcome}", declare(FinishDeclaration(outcome=outcome, summary=""))
    if right is None:
        return
    if right.reason_code is not None:
        yield "declared: nothing", declare(None)
        yield (
            "declared: without a reason",
            declare(right.model_copy(update={"reason_code": None, "reason_ref": None})),
        )
        yield "declared: another code", declare(right.model_copy(update={"reason_code": "withdrawn"}))
        yield "declared: another fact", declare(right.model_copy(update={"reason_ref": "POL-999"}))
        yield "declared: the fact padded", declare(right.model_copy(update={"reason_ref": f" {right.reason_ref}"}))
    for name, value in (right.answers or {}).items():
        for how, other in near_values(value):
            answers = {**(right.answers or {}), name: other}
            yield f"answered: {name} {how}", declare(right.model_copy(update={"answers": answers}))
        without = {one: held for one, held in (right.answers or {}).items() if one != name}
        yield f"answered: without {name}", declare(right.model_copy(update={"answers": without}))


def _followed_approval(oracle_run: OracleRun, record_id: str) -> bool:
    """Return whether a record's last change followed an approval; other records may be changed earlier."""
    moments = [
        change.step
        for request_id, _ in oracle_run.approved()
        for change in oracle_run.evidence.row_changes(APPROVALFLOW, "requests", request_id)
        if change.after is not None and change.after["status"] == "approved"
    ]
    return oracle_run.evidence.row_changes(DATAHUB, "records", record_id)[-1].step >= min(moments)


def _without(cause: str) -> Mutation:
    return lambda final_state: final_state.drop(cause)


def _first(service: str, table: str, key: str, status: Any) -> Mutation:
    """Return a mutation that moves the last change of a row (to a status, if given) to the start."""

    def mutate(final_state: FinalState) -> None:
        changes = final_state.changes[service]
        moved = [
            change
            for change in final_state.changes_of(service, table, key)
            if change["cause"] is not None and (status is None or (change["after"] or {}).get("status") == status)
        ][-1]
        changes.remove(moved)
        earliest = min((change["at"] for change in changes), default=moved["at"])
        changes.insert(0, {**moved, "step": 1, "at": earliest})

    return mutate


def _of_another(foreign: RecordedEpisode) -> Mutation:
    def mutate(final_state: FinalState) -> None:
        other = FinalState(foreign)
        final_state.changes, final_state.audits, final_state.finish = other.changes, other.audits, other.finish

    return mutate
