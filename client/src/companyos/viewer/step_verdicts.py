"""Rescores an episode after every step, to find the steps that changed each check and the parts of the reward.

A rubric is a pure function of evidence, and evidence only grows: the evidence up to a step equals the evidence after
that step.

"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from companyos.contract import EpisodeVerdict
from companyos.rescorers import InvalidEvidenceError, Rescorer
from companyos.viewer.document import EpisodeDocument, Judged, JudgedStep, RewardPart, Step, Turned
from companyos.viewer.explanation import with_explanation

_DIGITS = 6


def rescore_steps(document: EpisodeDocument, evidence: Mapping[str, Any], rescorer: Rescorer) -> Judged:
    """Return the current verdict and the contribution of each step; a fault if rescoring fails."""
    try:
        verdict = rescorer(evidence)
        after = _verdicts(document.steps, evidence, rescorer, verdict)
    except InvalidEvidenceError as error:
        return Judged(fault=str(error))
    is_whole = [step.number for step in document.steps] == list(range(1, len(document.steps) + 1))
    is_unchanged = is_whole and document.verdict is not None and document.verdict.agrees_with(verdict)
    steps = []
    for index, step in enumerate(document.steps):
        before, now = after[index], after[index + 1]
        parts = _parts(step, before, now, is_last=index + 1 == len(document.steps)) if is_unchanged else None
        steps.append(JudgedStep(number=step.number, parts=parts, turned=_turned(before, now)))
    if any(_has_unexplained_reward(judged_step, step) for judged_step, step in zip(steps, document.steps, strict=True)):
        steps = [step.model_copy(update={"parts": None}) for step in steps]
    return Judged(verdict=verdict, steps=steps)


def with_judged(document: EpisodeDocument, judged: Judged) -> EpisodeDocument:
    """Return the document with the rescored verdict and the rescored steps."""
    added = {step.number: step for step in judged.steps}
    steps = [
        step.model_copy(update={"parts": added[step.number].parts, "turned": added[step.number].turned})
        if step.number in added
        else step
        for step in document.steps
    ]
    judged = judged.model_copy(update={"steps": []})
    return with_explanation(document.model_copy(update={"judged": judged, "steps": steps}))


def _verdicts(
    steps: Sequence[Step], evidence: Mapping[str, Any], rescorer: Rescorer, last: EpisodeVerdict
) -> list[EpisodeVerdict]:
    """Return the verdict before the first step, and after each."""
    numbers = [0, *(step.number for step in steps)]
    is_over = bool(steps) and steps[-1].done
    before = [rescorer(_evidence_up_to(evidence, number)) for number in (numbers[:-1] if is_over else numbers)]
    return [*before, last] if is_over else before


def _evidence_up_to(evidence: Mapping[str, Any], step: int) -> dict[str, Any]:
    cut = {
        part: {name: [line for line in lines if line["step"] <= step] for name, lines in evidence.get(part, {}).items()}
        for part in ("changes", "audits")
    }
    views = [view for view in evidence.get("views", []) if view["step"] <= step]
    return {**evidence, **cut, "views": views, "finish": None, "declared_at": None, "is_over": False}


def _turned(before: EpisodeVerdict, now: EpisodeVerdict) -> list[Turned]:
    passed = {check.id: check.passed for check in before.checks}
    return [
        Turned(id=check.id, passed=check.passed)
        for check in now.checks
        if passed.get(check.id, check.passed) is not check.passed
    ]


def _parts(step: Step, before: EpisodeVerdict, now: EpisodeVerdict, *, is_last: bool) -> list[RewardPart]:
    """Return the reward of milestones, and the remaining reward with its causes."""
    milestone_reward = round(now.potential - before.potential, _DIGITS)
    remainder = round(step.reward - milestone_reward, _DIGITS)
    causes = ["end"] if is_last and step.done else []
    causes += ["damage"] if set(now.damage) - set(before.damage) else []
    causes += ["rejection"] if now.rejections > before.rejections else []
    parts = [RewardPart(part="milestones", paid=milestone_reward)] if milestone_reward else []
    return [*parts, RewardPart(part=" and ".join([*causes, "cost of the step"]), paid=remainder)]


def _has_unexplained_reward(judged: JudgedStep, step: Step) -> bool:
    """Return whether a step that is not the last has a positive reward that milestones do not explain."""
    return judged.parts is not None and not step.done and judged.parts[-1].paid > 0
