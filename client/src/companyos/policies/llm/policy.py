"""The policy that asks a model: one answer after another, each call of it one step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from companyos.policies.llm.accounting import Ledger
from companyos.policies.llm.calls import tool_calls
from companyos.policies.llm.conversation import Conversation, Dropped
from companyos.policies.llm.endpoint import (
    Answer,
    ContextFull,
    Endpoint,
    EndpointFailed,
    EndpointRefused,
    EndpointUnreachable,
)
from companyos.policies.llm.settings import LlmSettings
from companyos.policies.policy import Call, CannotPlay, InfrastructureFailed, TaskView
from companyos.usage import AgentUsage

REMINDERS = 3
"""How often in a row a model is reminded that only tool calls count."""

NO_CALLS = f"no tool call in {REMINDERS + 1} messages in a row"
CONTEXT_FULL = "the conversation is longer than the model takes, and nothing is left to drop"
_KEPT_WHEN_REFUSED = 0.75

Address = Callable[[TaskView], str]


class LlmPolicy:
    """Plays by the tool calls of a model; what it is asked with are its settings.

    `address` says where the endpoint of a task is, where it is not the settings' own.
    """

    name = "llm"

    def __init__(self, settings: LlmSettings | None = None, *, address: Address | None = None) -> None:
        self.usage: AgentUsage | None = None
        self.transcript: list[dict[str, Any]] = []
        self._settings = settings
        self._address = address

    @property
    def settings(self) -> dict[str, Any]:
        """What its runs are told apart by."""
        return {} if self._settings is None else self._settings.described()

    async def play(self, task: TaskView, call: Call) -> None:
        """Play until the episode is done, or until the model calls nothing any more.

        Raises CannotPlay where the endpoint refuses the first request or nothing answers there, and
        InfrastructureFailed where it fails otherwise.
        """
        if self._settings is None:
            raise CannotPlay("the policy 'llm' needs a model: companyos eval --policy llm --model NAME")
        base_url = self._settings.base_url if self._address is None else self._address(task)
        ledger = Ledger(self._settings)
        self.transcript = ledger.transcript
        async with Endpoint(self._settings, base_url) as endpoint:
            try:
                await _Dialogue(self._settings, endpoint, ledger, task).play(call)
            finally:
                self.usage = ledger.usage(endpoint)


class _Dialogue:
    def __init__(self, settings: LlmSettings, endpoint: Endpoint, ledger: Ledger, task: TaskView) -> None:
        self._settings = settings
        self._endpoint = endpoint
        self._ledger = ledger
        self._conversation = Conversation(task)
        self._limit = settings.context_limit
        self._answers = 0
        ledger.begin(self._conversation.tools)
        for message in self._conversation.messages:
            ledger.message(message)

    async def play(self, call: Call) -> None:
        reminded = 0
        while (answer := await self._next_answer()) is not None:
            calls = tool_calls(answer.message, first=self._conversation.calls_made)
            self._conversation.add_answer(answer.message, calls)
            for one in calls:
                step = await call(one.tool, one.arguments)
                self._ledger.message(self._conversation.add_result(one, step))
                if step.done:
                    return
            if calls:
                reminded = 0
            elif reminded == REMINDERS:
                self._ledger.stop(NO_CALLS)
                return
            else:
                self._ledger.message(self._conversation.remind())
                reminded += 1

    async def _next_answer(self) -> Answer | None:
        """Return the model's next answer; None where its context is too small for the conversation."""
        while True:
            if self._limit is not None:
                self._note(self._conversation.fit(self._limit, self._settings.max_output_tokens))
            try:
                answer = await self._endpoint.complete(self._body())
            except ContextFull as full:
                if self._answers == 0:
                    self._fail(full)
                if not self._give_way():
                    self._ledger.failed(str(full))
                    self._ledger.stop(CONTEXT_FULL)
                    return None
            except EndpointFailed as failure:
                self._fail(failure)
            else:
                self._answers += 1
                self._conversation.learn(answer.prompt_tokens)
                self._ledger.answer(answer)
                return answer

    def _give_way(self) -> bool:
        """Drop what can be dropped of a conversation that the endpoint found too long; say whether anything was."""
        found_too_long = self._conversation.estimated_tokens()
        self._limit = min(self._limit or found_too_long, found_too_long)
        dropped = self._conversation.shrink(int(found_too_long * _KEPT_WHEN_REFUSED))
        self._note(dropped)
        return dropped is not None

    def _note(self, dropped: Dropped | None) -> None:
        if dropped is not None:
            self._ledger.dropped(dropped.results, dropped.turns)

    def _fail(self, failure: EndpointFailed) -> NoReturn:
        self._ledger.failed(str(failure))
        if self._answers == 0 and isinstance(failure, EndpointRefused | EndpointUnreachable):
            raise CannotPlay(str(failure)) from None
        raise InfrastructureFailed(f"the model's endpoint failed: {failure}") from None

    def _body(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._settings.model,
            "messages": self._conversation.messages,
            "tools": self._conversation.tools,
        }
        if self._settings.temperature is not None:
            body["temperature"] = self._settings.temperature
        if self._settings.max_output_tokens is not None:
            body["max_completion_tokens"] = self._settings.max_output_tokens
        if self._settings.extra_body:
            body["extra_body"] = dict(self._settings.extra_body)
        return body
