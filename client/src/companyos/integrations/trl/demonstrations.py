"""Demonstrations: episodes of a scripted oracle as conversations for supervised warm-up."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from companyos.integrations.session import Ending
from companyos.integrations.trl.environment import CompanyOSEnvironment
from companyos.integrations.trl.spec import CompanyOSSpec, Row, prompt
from companyos.policies import EpisodeOverError, Policy, StepView, load_policy

TurnSelector = Callable[["Demonstration"], Sequence["Turn"]]
"""Function that selects the turns of a demonstration."""

TICK = "ticketdesk_complete_checklist_item"

_OMITTED_ARGUMENTS = ("idempotency_key",)
"""Arguments that a replay omits: they make retries safe, which is unnecessary without chaos."""

_MIN_VALUE_CHARS = 2

FINAL_MESSAGE = "Done."
"""Final message of a demonstration; generation stops at a message without a tool call."""


@dataclass(frozen=True)
class Conversation:
    """An episode as messages for a model."""

    row: Row
    messages: list[dict[str, Any]]


@dataclass(frozen=True)
class Turn:
    """One call with its result."""

    tool: str
    arguments: dict[str, Any]
    encoded: dict[str, Any]
    """The arguments in the model's format."""
    view: StepView
    text: str


@dataclass(frozen=True)
class Demonstration:
    """One episode of the oracle, as the model sees it."""

    row: Row
    task: str
    turns: tuple[Turn, ...]
    ending: Ending

    @property
    def conversation(self) -> Conversation:
        """The episode as messages, with tool calls in chat-template format."""
        system, user = prompt()
        conversation_messages: list[dict[str, Any]] = [system, {**user, "content": self.task}]
        for turn in self.turns:
            function = {"name": turn.tool, "arguments": turn.encoded}
            conversation_messages.append(
                {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": function}]}
            )
            conversation_messages.append({"role": "tool", "name": turn.tool, "content": turn.text})
        return Conversation(self.row, [*conversation_messages, {"role": "assistant", "content": FINAL_MESSAGE}])


def demonstrate(spec: CompanyOSSpec, rows: Sequence[Row], *, choose: TurnSelector | None) -> Iterator[Demonstration]:
    """Play rows with the oracle, and yield the successful episodes.

    With `choose`, each successful episode is replayed with only the chosen calls; the replay is yielded if it succeeds
    too.
    """
    environments: dict[str, CompanyOSEnvironment] = {}
    for row in rows:
        if row["scenario"] not in environments:
            environments[row["scenario"]] = spec.environment(row)
        environment = environments[row["scenario"]]
        shown = _play(environment, row, load_policy("oracle"))
        if choose is not None and shown.ending.success:
            shown = _replay(environment, row, choose(shown))
        if shown.ending.success:
            yield shown


def essential_turns(shown: Demonstration) -> Sequence[Turn]:
    """Select the calls that write, and the reads whose response a later call needs.

    A response is needed if it is the first with a form field, or a value with a digit, that the call uses. Ticking a
    checklist item confirms a lookup, so the reads of single rows before it are selected too.
    """
    known = set(_values(shown.task.split()))
    first: dict[str, int] = {}
    for number, turn in enumerate(shown.turns):
        for value in (*_values(turn.view.result), *_form_fields(turn.view.result)):
            if value not in known:
                first.setdefault(value, number)
    kept = {number for number, turn in enumerate(shown.turns) if not _is_read_call(turn.tool)}
    kept |= _looked_up(shown.turns)
    pending = list(kept)
    while pending:
        number = pending.pop()
        arguments = shown.turns[number].arguments
        needed = (*_values(arguments), *_filled_fields(arguments))
        sources = {first[value] for value in needed if first.get(value, number) < number}
        pending += sources - kept
        kept |= sources
    return [shown.turns[number] for number in sorted(kept)]


def _looked_up(turns: Sequence[Turn]) -> set[int]:
    """Return the numbers of the distinct reads of single rows before the last checklist item is ticked."""
    ticked = max((number for number, turn in enumerate(turns) if turn.tool == TICK), default=0)
    found: dict[str, int] = {}
    for number, turn in enumerate(turns[:ticked]):
        if "_get_" in turn.tool or "_query_" in turn.tool:
            found.setdefault(f"{turn.tool} {json.dumps(turn.arguments, sort_keys=True)}", number)
    return set(found.values())


def write_conversations(file: Path, shown: Iterable[Conversation]) -> None:
    """Write conversations as JSON Lines."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = (
        json.dumps({"row": conversation.row, "messages": conversation.messages}, ensure_ascii=False)
        for conversation in shown
    )
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read_conversations(file: Path) -> list[Conversation]:
    """Read the output of `write_conversations`."""
    return [Conversation(**json.loads(line)) for line in file.read_bytes().splitlines()]


def _play(environment: CompanyOSEnvironment, row: Row, policy: Policy) -> Demonstration:
    task, turns = environment.reset(**row), list[Turn]()

    async def call(tool: str, arguments: dict[str, Any], /) -> StepView:
        turns.append(_turn(environment, tool, arguments))
        return turns[-1].view

    assert environment._task is not None
    _run_to_completion(policy.play(environment._task, call))
    return Demonstration(row, task, tuple(turns), environment._end())


def _run_to_completion(coroutine: Any) -> None:
    """Run a coroutine whose calls never suspend, without an event loop."""
    try:
        coroutine.send(None)
    except (StopIteration, EpisodeOverError):
        return
    coroutine.close()
    raise RuntimeError("a demonstration policy must await nothing but its calls")


def _replay(environment: CompanyOSEnvironment, row: Row, turns: Sequence[Turn]) -> Demonstration:
    task, replayed = environment.reset(**row), list[Turn]()
    for turn in turns:
        if environment._session.is_over:
            break
        arguments = {name: value for name, value in turn.arguments.items() if name not in _OMITTED_ARGUMENTS}
        replayed.append(_turn(environment, turn.tool, arguments))
    return Demonstration(row, task, tuple(replayed), environment._end())


def _turn(environment: CompanyOSEnvironment, tool: str, arguments: dict[str, Any]) -> Turn:
    """Execute a call of the oracle and record it in the model's format."""
    json_arguments = json.loads(json.dumps(arguments))
    encoded = environment._language.encoded(json_arguments)
    view = environment._session.call(tool, json_arguments)
    return Turn(tool, json_arguments, encoded, view, environment._language.answer(view))


def _is_read_call(tool: str) -> bool:
    return any(word in tool for word in ("_get_", "_list_", "_search_", "_query_"))


def _form_fields(result: Any) -> Iterator[str]:
    """Yield the names of the fields of a form."""
    match result:
        case {"fields": [{"name": _}, *_] as form_fields}:
            yield from (f"field {field['name']}" for field in form_fields)


def _filled_fields(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the fields that a call fills in."""
    match arguments:
        case {"fields": {**filled}}:
            yield from (f"field {name}" for name in filled)


def _values(value: Any) -> Iterator[str]:
    """Yield every value with a digit as text."""
    match value:
        case Mapping():
            for item in value.values():
                yield from _values(item)
        case list() | tuple():
            for item in value:
                yield from _values(item)
        case str() | int() | float():
            text = str(value).strip(".,;:()").replace("+00:00", "Z")
            if len(text) >= _MIN_VALUE_CHARS and any(letter.isdigit() for letter in text):
                yield text
