"""Why an episode failed: how it ended, the causes without their consequences, and the steps that are about a cause."""

from __future__ import annotations

import re

from companyos.contract import CheckVerdict, EpisodeVerdict, Outcome
from companyos.viewer.document import Cause, EpisodeDocument, Explanation, Step, StepKind

MAX_STEPS = 6
"""The most steps that are listed for a cause."""

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
    last = episode.steps[-1] if episode.steps else None
    match episode.facts.outcome:
        case _ if episode.facts.trouble is not None:
            return f"An error stopped the episode: {episode.facts.trouble}"
        case Outcome.OUT_OF_STEPS:
            return "No steps were left."
        case Outcome.CLOSED:
            return "The client closed the episode early."
        case _ if episode.finish is not None:
            return f'The agent declared "{episode.finish.get("outcome")}": {episode.finish.get("summary")}'
        case _ if last is not None:
            return f"The task was closed by step {last.number}, {last.tool}."
    return "The episode has no steps."


def _cause(check: CheckVerdict, steps: list[Step]) -> Cause:
    row = _ROW.fullmatch(check.entity or "")
    about = [] if row is None else [step for step in steps if _is_about(step, **row.groupdict())]
    columns = set(_COLUMN.findall(check.expected or ""))
    named = [step.number for step in about if not columns.isdisjoint(_changed_columns(step))]
    others = named or [step.number for step in about]
    numbers = sorted({*others, *([check.step] if check.step is not None else [])})
    return Cause(check=check.id, steps=numbers[-MAX_STEPS:], more=max(0, len(numbers) - MAX_STEPS))


def _is_about(step: Step, service: str, table: str, key: str | None) -> bool:
    """Return whether a step changed a row, or is a rejected call that names it.

    Without a key it is about any row of the table, if the agent changed it.
    """
    for change in step.changes:
        is_meant = change.actor == "agent" if key is None else change.key == key
        if is_meant and (change.service, change.table) == (service, table):
            return True
    named = step.arguments.values() if isinstance(step.arguments, dict) else ()
    is_rejected = step.kind in (StepKind.PROBLEM, StepKind.INVALID_CALL) and step.service == service
    return is_rejected and (key is None or key in named)


def _changed_columns(step: Step) -> set[str]:
    return {column.column for change in step.changes for column in change.columns if change.kind == "changed"}
