"""Typed answers: what the agent declares, compared by value with what the facts say."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from companyos_gateway.rubrics.composition import Finding
from companyos_gateway.rubrics.evidence import Evidence
from companyos_shared.choices import same_choice

CLOSE = 1e-9
"""By how much numbers may differ that are the same: as much as arithmetic costs."""

Answer = float | str


@dataclass(frozen=True)
class Question:
    """One thing that is asked: the name of its answer, and what the facts say; None where they say nothing."""

    name: str
    answer: Callable[[Evidence], Answer | None]


def judge_answers(questions: Sequence[Question], evidence: Evidence, given: Mapping[str, Any] | None) -> Finding:
    """Judge whether the answers are those to the questions, each right and none beside them."""
    answers = given or {}
    names = [question.name for question in questions]
    beside = sorted(answers.keys() - set(names))
    if beside:
        return False, f"answers that nobody asked for: {', '.join(beside)}"
    wrong = [one.name for one in questions if not is_same_answer(answers.get(one.name), one.answer(evidence))]
    return (not wrong), (f"not answered, or wrongly: {', '.join(wrong)}" if wrong else "every answer is right")


def is_same_answer(given: Any, wanted: Answer | None) -> bool:
    """Say whether an answer is the wanted one, numbers by value; text is no number, and true is none either."""
    if wanted is None or given is None:
        return False
    if isinstance(wanted, str):
        return isinstance(given, str) and same_choice(given, wanted)
    if isinstance(given, bool) or not isinstance(given, int | float):
        return False
    try:
        return math.isclose(given, wanted, rel_tol=CLOSE, abs_tol=CLOSE)
    except OverflowError:
        return False
