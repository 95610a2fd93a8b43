"""The conversation with a model: its messages, and their removal when the context is full."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from companyos.policies.llm.apis.api import NATIVE
from companyos.policies.llm.calls import ToolCall
from companyos.policies.llm.prompt import REMINDER, result_text, system_text, task_text, tool_formats
from companyos.policies.llm.settings import ANSWER_SHARE
from companyos.policies.policy import StepView, TaskView

FIRST_TOKENS_PER_CHAR = 0.3
"""Initial estimate of tokens per character, until the first response reports its tokens."""

_SHRINK_TARGET = 0.75
"""Fraction of the prompt budget that a reduction leaves, so that it is not needed at every step."""

_TASK = 1
_HEAD = 2
"""Messages that are never dropped: system message and task."""

_DROPPED_RESULT = "[{chars} characters were dropped to save context; call the tool again to see them]"
_DROPPED_TURNS = "[the first {turns} messages of yours were dropped to save context, with their results]"


@dataclass(frozen=True)
class Dropped:
    """Numbers of dropped tool results and whole turns."""

    results: int
    turns: int


class Conversation:
    """Messages of one episode in the chat completions format."""

    def __init__(self, task: TaskView) -> None:
        self.tools = tool_formats(task.tools)
        self._task = task_text(task)
        self.messages: list[dict[str, Any]] = [
            {"role": "system", "content": system_text(task)},
            {"role": "user", "content": self._task},
        ]
        self._dropped_turns = 0
        self._tokens_per_char = FIRST_TOKENS_PER_CHAR
        self.calls_made = 0
        """Number of calls that the model has made so far."""

    def add_answer(self, message: dict[str, Any], calls: Sequence[ToolCall]) -> None:
        """Append the model's message without null fields; replace its calls with parsable ones."""
        kept = {name: value for name, value in message.items() if value is not None}
        kept["role"] = "assistant"
        if calls:
            kept["tool_calls"] = [call.as_message_part() for call in calls]
            kept.setdefault("content", None)
        else:
            kept.pop("tool_calls", None)
            kept.setdefault("content", "")
        self.calls_made += len(calls)
        self.messages.append(kept)

    def add_result(self, call: ToolCall, step: StepView) -> dict[str, Any]:
        """Append the result of a call; return the message."""
        self.messages.append({"role": "tool", "tool_call_id": call.id, "content": result_text(step, call.fault)})
        return self.messages[-1]

    def add_reminder(self) -> dict[str, Any]:
        """Append a reminder that only tool calls have an effect; return the message."""
        self.messages.append({"role": "user", "content": REMINDER})
        return self.messages[-1]

    def calibrate(self, prompt_tokens: int | None) -> None:
        """Update the token estimate from a response whose message is not yet appended."""
        if prompt_tokens:
            self._tokens_per_char = prompt_tokens / self._chars()

    def estimated_tokens(self) -> int:
        """Return the estimated tokens of the next request."""
        return ceil(self._chars() * self._tokens_per_char)

    def fit(self, limit: int, max_output_tokens: int | None) -> Dropped | None:
        """Reduce the conversation if request and response would exceed the limit; return the dropped counts, if any."""
        budget = limit - (max_output_tokens or limit // ANSWER_SHARE)
        if self.estimated_tokens() <= budget:
            return None
        return self.shrink(int(budget * _SHRINK_TARGET))

    def shrink(self, tokens: int) -> Dropped | None:
        """Drop the oldest tool results, then whole turns, down to a number of tokens; the last turn is kept."""
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
        return next((place for place, message in enumerate(self.messages) if message["role"] == "assistant"), 0)

    def _last_turn(self) -> int:
        places = [place for place, message in enumerate(self.messages) if message["role"] == "assistant"]
        return places[-1] if places else 0

    def _chars(self) -> int:
        messages = [{name: value for name, value in message.items() if name != NATIVE} for message in self.messages]
        return len(json.dumps([messages, self.tools], ensure_ascii=False))
