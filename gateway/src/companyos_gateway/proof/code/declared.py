"""Variants of an end in what is declared: every outcome with every reason, and answers of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from companyos_gateway.proof.states.bends import Bend, Way, values_beside
from companyos_gateway.proof.states.ending import Ending
from companyos_gateway.rubrics import FinishDeclaration

_HUGE = 10**400
"""A whole number that no float holds."""

_NEAR = (1e-12, 1e-7, -1e-7)


def declarations(way: Way) -> Iterator[Bend]:
    """Yield the end with other declarations."""
    right = way.kept.finish
    answers = None if right is None else right.answers
    code, reference = (None, None) if right is None else (right.reason_code, right.reason_ref)
    for outcome in ("done", "refused", "impossible"):
        for reason in {(None, None), (code, reference), ("duplicate", reference), (code, "POL-999")}:
            for given in (None, {}, answers, {"beside": 1}):
                yield _declared(outcome, reason, given)
    if right is not None and answers:
        for other in _answers_beside(answers):
            yield _declared(right.outcome, (code, reference), other)
    yield _nothing


def _answers_beside(answers: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {**answers, "beside": 1}
    yield {f"other_{name}": value for name, value in answers.items()}
    for name, value in answers.items():
        others: list[Any] = [None, True, "text", _HUGE, [], float("inf"), *(one for _, one in values_beside(value))]
        if isinstance(value, int | float):
            others += [float(value), value + 1, *(value + near for near in _NEAR)]
        yield from ({**answers, name: other} for other in others)


def _declared(outcome: str, reason: tuple[Any, Any], answers: dict[str, Any] | None) -> Bend:
    said = {"outcome": outcome, "summary": "", "reason_code": reason[0], "reason_ref": reason[1], "answers": answers}

    def bend(ending: Ending) -> None:
        ending.finish = FinishDeclaration.model_validate(said)

    return bend


def _nothing(ending: Ending) -> None:
    ending.finish = None
