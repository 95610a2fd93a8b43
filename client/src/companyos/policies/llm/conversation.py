"""The conversation with a model: what the next request holds, and what leaves it when it outgrows its room."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from companyos.policies.llm.calls import ToolCall
from companyos.policies.llm.prompt import REMINDER, result_text, system_text, task_text, tool_formats
from companyos.policies.policy import StepView, TaskView

FIRST_TOKENS_PER_CHAR = 0.3
"""A guess, until the first answer tells how many tokens its request had."""

_SHRINK_TARGET = 0.75
"""How much of its room a conversation keeps once it has outgrown it, so that it is not cut at every step."""

_ANSWER_SHARE = 8
"""One part in so many of a context is left for the answer where nothing limits that."""

_TASK = 1
_HEAD = 2
"""Messages that never leave: the system's and the task."""

_DROPPED_RESULT = "[{chars} characters were dropped to make room; call the tool again to see them]"
_DROPPED_TURNS = "[the first {turns} messages of yours were dropped to make room, with what came of them]"


@dataclass(frozen=True)
class Dropped:
    """What left a conversation: answers of tools, and whole turns."""

    results: int
    turns: int


class Conversation:
    """One episode's messages, as the endpoint is sent them."""

    def __init__(self, task: TaskView) -> None:
        self.tools = tool_formats(task.tools)
        self._task = task_text(task)
        self.messages: list[dict[str, Any]] = [
            {"role": "system", "content": system_text(task)},
            {"role": "user", "content": self._task},
        ]
        self._dropped_turns = 0
        self._tokens_per_char = FIRST_TOKENS_PER_CHAR
        self._calls_made = 0

    @property
    def calls_made(self) -> int:
        """How many calls the model has made so far."""
        return self._calls_made

    def add_answer(self, message: dict[str, Any], calls: Sequence[ToolCall]) -> None:
        """Append the model's message as it came, less what is null; its calls are made parseable."""
        kept = {name: value for name, value in message.items() if value is not None}
        kept["role"] = "assistant"
        if calls:
            kept["tool_calls"] = [call.as_message_part() for call in calls]
            kept.setdefault("content", None)
        else:
            kept.pop("tool_calls", None)
            kept.setdefault("content", "")
        self._calls_made += len(calls)
        self.messages.append(kept)

    def add_result(self, call: ToolCall, step: StepView) -> dict[str, Any]:
        """Append what a call brought; return the message."""
        self.messages.append({"role": "tool", "tool_call_id": call.id, "content": result_text(step, call.fault)})
        return self.messages[-1]

    def add_reminder(self) -> dict[str, Any]:
        """Append a reminder that only calls count; return the message."""
        self.messages.append({"role": "user", "content": REMINDER})
        return self.messages[-1]

    def calibrate(self, prompt_tokens: int | None) -> None:
        """Learn from an answer, not yet appended, how many tokens its request had."""
        if prompt_tokens:
            self._tokens_per_char = prompt_tokens / self._chars()

    def estimated_tokens(self) -> int:
        """Return how many tokens the next request has, by the tokens that the last one had for each character."""
        return ceil(self._chars() * self._tokens_per_char)

    def fit(self, limit: int, max_output_tokens: int | None) -> Dropped | None:
        """Make room where request and answer would exceed the limit together; return what left, None for nothing."""
        budget = limit - (max_output_tokens or limit // _ANSWER_SHARE)
        if self.estimated_tokens() <= budget:
            return None
        return self.shrink(int(budget * _SHRINK_TARGET))

    def shrink(self, tokens: int) -> Dropped | None:
        """Drop the oldest answers of tools, then whole turns, down to so many tokens; the last turn always stays."""
        results = self._drop_results(tokens)
        turns = self._drop_turns(tokens)
        return Dropped(results, turns) if results or turns else None

    def _drop_results(self, tokens: int) -> int:
        dropped = 0
        for message in self.messages[: self._last_turn()]:
            if self.estimated_tokens() <= tokens:
                break
            placeholder = _DROPPED_RESULT.format(chars=len(message.get("content") or ""))
            if message["role"] == "tool" and len(placeholder) < len(message["content"]):
                message["content"] = placeholder
                dropped += 1
        return dropped

    def _drop_turns(self, tokens: int) -> int:
        dropped = 0
        while self.estimated_tokens() > tokens and self._first_turn() < self._last_turn():
            first = self._first_turn()
            after = first + 1
            while self.messages[after]["role"] != "assistant":
                after += 1
            self.messages[_HEAD:after] = []
            dropped += 1
            self._dropped_turns += 1
            self.messages[_TASK]["content"] = f"{self._task}\n\n{_DROPPED_TURNS.format(turns=self._dropped_turns)}"
        return dropped

    def _first_turn(self) -> int:
        return next((place for place, one in enumerate(self.messages) if one["role"] == "assistant"), 0)

    def _last_turn(self) -> int:
        places = [place for place, one in enumerate(self.messages) if one["role"] == "assistant"]
        return places[-1] if places else 0

    def _chars(self) -> int:
        return len(json.dumps([self.messages, self.tools], ensure_ascii=False))
