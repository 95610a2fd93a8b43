"""Mutations of the agent's knowledge: a deciding fact is removed from all responses, then shown by another channel.

Deciding facts are those about which the checks of a rubric query the evidence.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from companyos_gateway.evaluation import Evidence
from companyos_gateway.evaluation.knowledge import contains, objects_in
from companyos_shared.pages.shown_objects import IDENTITIES
from companyos_shared.wire.control import Rows
from verification.proof.episode_runner import RecordedEpisode
from verification.proof.final_states.final_state import FinalState

_MAX_ALTERNATIVES = 5
"""Maximum number of alternatives removed with a fact, such as the two names of a column."""


@dataclass(frozen=True)
class Question:
    """A check's query of the evidence: whether an entity was shown with these columns and values before a step."""

    entity: str
    columns: tuple[str, ...]
    values: tuple[tuple[str, Any], ...]
    before: int

    @property
    def text(self) -> str:
        """The question as text, without values and steps."""
        return f"{self.entity} {', '.join((*self.columns, *(name for name, _ in self.values)))}"

    def is_answered_by(self, objects: Collection[tuple[str, Mapping[str, Any]]]) -> bool:
        """Return whether one of the objects is the entity with the columns and values."""
        return any(
            entity == self.entity and contains(shown, self.columns, dict(self.values)) for entity, shown in objects
        )

    def is_read_in(self, response: Any, owner: str | None = None) -> bool:
        """Return whether one object in a response has the columns and values and the entity's id under any name.

        An object with an identity column is about that entity; one without may be about the enclosing object.
        """
        if isinstance(response, list):
            return any(self.is_read_in(part, owner) for part in response)
        if not isinstance(response, dict):
            return False
        identity = next((response[name] for name in IDENTITIES if isinstance(response.get(name), str)), None)
        if identity is None and self.entity in response.values():
            identity = self.entity
        about = identity or owner
        is_here = about == self.entity and contains(response, self.columns, dict(self.values))
        return is_here or any(self.is_read_in(part, about) for part in response.values())


class QuestionedEvidence(Evidence):
    """Evidence that records the questions about the agent's knowledge that were true."""

    def __init__(self, initial: Mapping[str, Rows]) -> None:
        super().__init__(initial)
        self.known: dict[Question, None] = {}

    def knew(self, entity: str, *columns: str, before: int, **values: Any) -> bool:
        """Return the result of `Evidence.knew`, and record the question if it is true."""
        is_known = super().knew(entity, *columns, before=before, **values)
        if is_known:
            self.known[Question(str(entity), columns, tuple(values.items()), before)] = None
        return is_known


@dataclass(frozen=True)
class Channel:
    """One way to read facts: the response to a tool call, or the objects shown by a page."""

    name: str
    service: str
    arguments: dict[str, Any]
    response: Any
    """The list of shown objects if the channel is a page."""

    is_page: bool = False

    @property
    def objects(self) -> list[tuple[str, Mapping[str, Any]]]:
        """The objects that the channel shows, each with its entity."""
        return list(objects_in(self.arguments, self.response))

    def show(self, final_state: FinalState, step: int) -> None:
        """Add the channel to the evidence of an episode, at a step."""
        shown = json.loads(json.dumps(self.response))
        if self.is_page:
            final_state.views += [{"step": step, "shown": one} for one in shown]
            return
        audits = final_state.audits.setdefault(self.service, [])
        line = next(one for lines in final_state.audits.values() for one in lines)
        call = {"operation": self.name, "arguments": self.arguments, "response": shown, "step": step}
        audits.append({**line, **call, "status": 200, "code": None})
        audits.sort(key=lambda line: int(line["step"]))


@dataclass(frozen=True)
class Fact:
    """A deciding fact: a question, and the alternatives that the checks query if it is false."""

    questions: tuple[Question, ...]

    @property
    def text(self) -> str:
        """The fact as text."""
        return self.questions[0].text

    @property
    def first_use(self) -> int:
        """The step of the first decision that requires the fact."""
        return min(one.before for one in self.questions)

    @property
    def last_use(self) -> int:
        """The step of the last decision that requires the fact."""
        return max(one.before for one in self.questions)

    def forgotten(self, kept: RecordedEpisode) -> FinalState:
        """Return the final state of an episode with the fact removed from everything that the agent was shown."""
        final_state = FinalState(kept)
        _remove(final_state, self.questions)
        return final_state

    def is_shown_by(self, channel: Channel) -> bool:
        """Return whether a channel shows the fact, as rubrics look it up or next to the entity's id under any name."""
        objects = channel.objects
        return any(one.is_answered_by(objects) or one.is_read_in(channel.response) for one in self.questions)


def known_questions(final_state: FinalState) -> list[Question]:
    """Return the questions about the agent's knowledge that the checks ask and that are true."""
    evidence = QuestionedEvidence.from_json(final_state.stored())
    assert isinstance(evidence, QuestionedEvidence)
    for check in final_state.instance.rubric.checks:
        check.find_mismatch(evidence)
    return list(evidence.known)


def deciding_facts(final_state: FinalState) -> list[list[Question]]:
    """Return the questions grouped by fact: those of a group differ only in the step before which it must be known."""
    facts: dict[tuple[Any, ...], list[Question]] = {}
    for one in known_questions(final_state):
        facts.setdefault((one.entity, one.columns, one.values), []).append(one)
    return list(facts.values())


def forget(final_state: FinalState, questions: Sequence[Question]) -> Fact:
    """Remove a fact, and the alternatives that the checks accept for it, from everything that the agent was shown.

    An alternative is a question that the checks ask only once the fact is unknown.
    """
    removed = list(questions)
    first = set(known_questions(final_state))
    _remove(final_state, questions)
    for _ in range(_MAX_ALTERNATIVES):
        alternatives = [one for one in known_questions(final_state) if one not in first]
        if not alternatives or not final_state.judge().success:
            break
        _remove(final_state, alternatives)
        removed += alternatives
    return Fact(tuple(removed))


def _remove(final_state: FinalState, questions: Sequence[Question]) -> None:
    """Remove the columns that make the questions true, from what was shown before the step of each question."""
    for lines in final_state.audits.values():
        for line in lines:
            if line.get("response") is not None:
                _strip(objects_in(line["arguments"], line["response"]), line["step"], questions)
    final_state.views = json.loads(json.dumps(final_state.views))
    for view in final_state.views:
        _strip(objects_in({}, view["shown"]), view["step"], questions)


def _strip(objects: Any, step: int, questions: Sequence[Question]) -> None:
    for entity, shown in list(objects):
        for one in questions:
            if step < one.before and entity == one.entity and contains(shown, one.columns, dict(one.values)):
                for name in (*one.columns, *dict(one.values)):
                    shown.pop(name, None)
