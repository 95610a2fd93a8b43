"""Wrong ways to a right end, ends of other tasks, and wrong declarations."""

from __future__ import annotations

from typing import Any

from companyos_gateway.proof.playing import Kept
from companyos_gateway.proof.states.bends import DESK, FLOW, HUB, Bend, Bends, Way, values_beside
from companyos_gateway.proof.states.dropping import required_causes
from companyos_gateway.proof.states.ending import Ending
from companyos_gateway.rubrics import FinishDeclaration


def path_bends(way: Way, foreign: Kept) -> Bends:
    """Yield the end without a required write, reached in a forbidden order, or that of another seed."""
    for cause in required_causes(way.kept):
        yield f"without {cause}", _without(cause)
    if way.approved():
        yield "ended before the approval", _first(DESK, "tickets", way.key, way.ticket["status"])
        for net in (net for net in way.changed(HUB, "records") if _followed_approval(way, net.key)):
            yield f"record {net.key} before the approval", _first(HUB, "records", net.key, None)
    yield "another seed's end", _of_another(foreign)


def declaration_bends(way: Way) -> Bends:
    """Yield the end with another declaration than it asks for."""
    right = way.kept.finish
    for outcome in ("done", "refused", "impossible"):
        if (right is None and outcome != "done") or (right is not None and right.outcome != outcome):
            yield f"declared: {outcome}", _declared(FinishDeclaration(outcome=outcome, summary=""))
    if right is None:
        return
    if right.reason_code is not None:
        yield "declared: nothing", _declared(None)
        yield (
            "declared: without a reason",
            _declared(right.model_copy(update={"reason_code": None, "reason_ref": None})),
        )
        yield "declared: another code", _declared(right.model_copy(update={"reason_code": "withdrawn"}))
        yield "declared: another fact", _declared(right.model_copy(update={"reason_ref": "POL-999"}))
        yield "declared: the fact padded", _declared(right.model_copy(update={"reason_ref": f" {right.reason_ref}"}))
    for name, value in (right.answers or {}).items():
        for how, other in values_beside(value):
            answers = {**(right.answers or {}), name: other}
            yield f"answered: {name} {how}", _declared(right.model_copy(update={"answers": answers}))
        without = {one: held for one, held in (right.answers or {}).items() if one != name}
        yield f"answered: without {name}", _declared(right.model_copy(update={"answers": without}))


def _followed_approval(way: Way, record_id: str) -> bool:
    """Say whether a record was changed last once something was approved; others may be settled before."""
    moments = [
        change.step
        for request_id, _ in way.approved()
        for change in way.evidence.row_changes(FLOW, "requests", request_id)
        if change.after is not None and change.after["status"] == "approved"
    ]
    return way.evidence.row_changes(HUB, "records", record_id)[-1].step >= min(moments)


def _without(cause: str) -> Bend:
    return lambda ending: ending.drop(cause)


def _declared(finish: FinishDeclaration | None) -> Bend:
    def bend(ending: Ending) -> None:
        ending.finish = finish

    return bend


def _first(service: str, table: str, key: str, status: Any) -> Bend:
    """Let the last change of a row (to the status, where one is named) have been the very first of all."""

    def bend(ending: Ending) -> None:
        changes = ending.changes[service]
        at = max(
            number
            for number, change in enumerate(changes)
            if (change["table"], change["key"]) == (table, key)
            and change["cause"] is not None
            and (status is None or (change["after"] or {}).get("status") == status)
        )
        moved = changes.pop(at)
        earliest = min((change["at"] for change in changes), default=moved["at"])
        changes.insert(0, {**moved, "step": 1, "at": earliest})

    return bend


def _of_another(foreign: Kept) -> Bend:
    def bend(ending: Ending) -> None:
        other = Ending(foreign)
        ending.changes, ending.audits, ending.finish = other.changes, other.audits, other.finish

    return bend
