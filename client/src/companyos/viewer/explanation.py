"""Explains why an episode failed: its end, the causes without their consequences, and the steps related to a cause."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from companyos.contract import CheckVerdict, EpisodeVerdict, Outcome
from companyos.viewer.document import Cause, EpisodeDocument, Explanation, Step, StepKind

MAX_STEPS = 6
"""Maximum number of steps listed for a cause."""

_OK = 200
_ROW = re.compile(r"(?P<service>\w+)\.(?P<table>\w+)(?:\[(?P<key>.+)\])?")
_COLUMN = re.compile(r"(\w+):")


def with_explanation(episode: EpisodeDocument) -> EpisodeDocument:
    """Return the document with the reasons for the failure of an episode that has ended."""
    verdict = verdict_of(episode)
    if verdict is None or verdict.success or episode.facts.outcome is None:
        return episode.model_copy(update={"why": None})
    failed = [check for check in verdict.failures_first if not check.passed]
    why = Explanation(
        ended=_describe_end(episode),
        causes=[_cause(check, episode.steps) for check in failed if not check.caused_by],
        consequences=[check.id for check in failed if check.caused_by],
        policies=[step.number for step in episode.steps if step.tool.endswith("_get_policy") and step.status == _OK],
    )
    return episode.model_copy(update={"why": why})


def verdict_of(episode: EpisodeDocument) -> EpisodeVerdict | None:
    """Return the verdict of rescoring, else the recorded one."""
    return (episode.judged.verdict if episode.judged is not None else None) or episode.verdict


def _describe_end(episode: EpisodeDocument) -> str:
    count = len(episode.steps)
    after = f"after {count} step{'s' * (count != 1)}"
    if not any(change.actor == "agent" for step in episode.steps for change in step.changes):
        after += " without a change"
    match episode.facts.outcome:
        case _ if episode.facts.trouble is not None:
            return f"An error stopped the episode {after}: {episode.facts.trouble}"
        case Outcome.OUT_OF_STEPS:
            return f"No steps were left {after}."
        case Outcome.CLOSED:
            return f"The client closed the episode {after}."
        case _ if episode.finish is not None:
            declared, summary = episode.finish.get("outcome"), episode.finish.get("summary")
            wrote = f', and wrote: "{summary}"' if summary else ""
            return f'The agent declared "{declared}" {after}{wrote}'
        case _ if episode.steps:
            return f"Step {episode.steps[-1].number}, {episode.steps[-1].tool}, closed the task."
    return "The episode has no steps."


def _cause(check: CheckVerdict, steps: list[Step]) -> Cause:
    row = _ROW.fullmatch(check.entity or "")
    about = [] if row is None else [step for step in steps if _is_about(step, **row.groupdict())]
    columns = set(_COLUMN.findall(check.expected or ""))
    named = [step for step in about if not columns.isdisjoint(_changed_columns(step))] or about
    if row is not None and row["key"] is None:
        named = _closest(named, check.expected or "")
    numbers = sorted({*(step.number for step in named), *([check.step] if check.step is not None else [])})
    return Cause(
        check=check.id,
        label=None if row is None else _label_of(steps, **row.groupdict()),
        steps=numbers[-MAX_STEPS:],
        more=max(0, len(numbers) - MAX_STEPS),
    )


def _closest(steps: list[Step], expected: str) -> list[Step]:
    """Return the steps with the most arguments that are words of the expected text."""
    words = set(re.findall(r"[\w-]+", expected))
    counts = [sum(isinstance(value, str) and value in words for value in _arguments(step)) for step in steps]
    return [step for step, count in zip(steps, counts, strict=True) if count == max(counts)]


def _arguments(step: Step) -> Collection[Any]:
    return step.arguments.values() if isinstance(step.arguments, dict) else ()


def _label_of(steps: list[Step], service: str, table: str, key: str | None) -> str | None:
    """Return the label of a row that a step changed."""
    changes = (change for step in steps for change in step.changes)
    found = (one.label for one in changes if (one.service, one.table, one.key) == (service, table, key))
    return next((label for label in found if label is not None), None)


def _is_about(step: Step, service: str, table: str, key: str | None) -> bool:
    """Return whether a step changed a row, or is a rejected call that names it.

    Without a key, any change of the table by the agent and any rejected call of the service count.
    """
    for change in step.changes:
        is_meant = change.actor == "agent" if key is None else change.key == key
        if is_meant and (change.service, change.table) == (service, table):
            return True
    is_rejected = step.kind in (StepKind.PROBLEM, StepKind.INVALID_CALL) and step.service == service
    return is_rejected and (key is None or key in _arguments(step))


def _changed_columns(step: Step) -> set[str]:
    return {column.column for change in step.changes for column in change.columns if change.kind == "changed"}
