"""The policy that calls a model; each tool call of a message is one step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from companyos.policies.llm.apis import APIS, Answer
from companyos.policies.llm.calls import tool_calls
from companyos.policies.llm.conversation import Conversation, Dropped
from companyos.policies.llm.endpoint import (
    ContextLengthError,
    Endpoint,
    EndpointError,
    EndpointRejectedError,
    EndpointUnreachableError,
)
from companyos.policies.llm.settings import LlmSettings
from companyos.policies.llm.usage_tracker import UsageTracker
from companyos.policies.policy import Call, InfrastructureError, PolicyUnavailableError, TaskView
from companyos.schemas import AgentUsage

REMINDERS = 3
"""Maximum number of consecutive reminders that only tool calls have an effect."""

NO_CALLS = f"no tool call in {REMINDERS + 1} messages in a row"
CONTEXT_FULL = "the conversation exceeds the model's context, and nothing is left to drop"
_SHRINK_FACTOR = 0.75

EndpointResolver = Callable[[TaskView], str]


class LlmPolicy:
    """Executes the tool calls of a model with the given settings.

    `address` returns the endpoint of a task, if it differs from the settings.
    """

    name = "llm"

    def __init__(self, settings: LlmSettings | None = None, *, address: EndpointResolver | None = None) -> None:
        self.usage: AgentUsage | None = None
        self.transcript: list[dict[str, Any]] = []
        self._settings = settings
        self._address = address

    @property
    def settings(self) -> dict[str, Any]:
        """Settings that identify the policy's runs."""
        return {} if self._settings is None else self._settings.to_json()

    async def play(self, task: TaskView, call: Call) -> None:
        """Play until the episode is done, or until the model stops calling tools.

        Raises PolicyUnavailableError if the endpoint rejects the first request or is unreachable, and
        InfrastructureError for later failures.
        """
        if self._settings is None:
            raise PolicyUnavailableError("the policy 'llm' needs a model: companyos eval --policy llm --model NAME")
        base_url = self._settings.base_url if self._address is None else self._address(task)
        tracker = UsageTracker(self._settings)
        self.transcript = tracker.transcript
        async with Endpoint(self._settings, base_url) as endpoint:
            try:
                await _ChatLoop(self._settings, endpoint, tracker, task).play(call)
            finally:
                self.usage = tracker.usage(endpoint)


class _ChatLoop:
    def __init__(self, settings: LlmSettings, endpoint: Endpoint, tracker: UsageTracker, task: TaskView) -> None:
        self._settings = settings
        self._endpoint = endpoint
        self._tracker = tracker
        self._conversation = Conversation(task)
        self._limit = settings.context_limit
        self._answers = 0
        tracker.begin(self._conversation.tools)
        for message in self._conversation.messages:
            tracker.message(message)

    async def play(self, call: Call) -> None:
        reminders = 0
        while (answer := await self._next_answer()) is not None:
            calls = tool_calls(answer.message, first=self._conversation.calls_made)
            self._conversation.add_answer(answer.message, calls)
            for tool_call in calls:
                step = await call(tool_call.tool, tool_call.arguments)
                self._tracker.message(self._conversation.add_result(tool_call, step))
                if step.done:
                    return
            if (limit := self._tracker.limit_reached()) is not None:
                self._tracker.stop(limit)
                return
            if calls:
                reminders = 0
            elif reminders == REMINDERS:
                self._tracker.stop(NO_CALLS)
                return
            else:
                self._tracker.message(self._conversation.add_reminder())
                reminders += 1

    async def _next_answer(self) -> Answer | None:
        """Return the model's next response; None if the conversation exceeds its context."""
        while True:
            if self._limit is not None:
                self._record_dropped(self._conversation.fit(self._limit, self._settings.max_output_tokens))
            waited_s = self._endpoint.latency_s
            try:
                answer = await self._endpoint.complete(self._body())
            except ContextLengthError as error:
                if self._answers == 0:
                    self._fail(error)
                if not self._shrink_conversation():
                    self._tracker.failed(str(error))
                    self._tracker.stop(CONTEXT_FULL)
                    return None
            except EndpointError as failure:
                self._fail(failure)
            else:
                self._answers += 1
                self._conversation.calibrate(answer.tokens.prompt)
                self._tracker.answer(answer, self._endpoint.latency_s - waited_s)
                return answer

    def _shrink_conversation(self) -> bool:
        """Reduce a conversation that exceeded the context; return whether anything was dropped."""
        rejected_tokens = self._conversation.estimated_tokens()
        self._limit = min(self._limit or rejected_tokens, rejected_tokens)
        dropped = self._conversation.shrink(int(rejected_tokens * _SHRINK_FACTOR))
        self._record_dropped(dropped)
        return dropped is not None

    def _record_dropped(self, dropped: Dropped | None) -> None:
        if dropped is not None:
            self._tracker.dropped(dropped.results, dropped.turns)

    def _fail(self, failure: EndpointError) -> NoReturn:
        self._tracker.failed(str(failure))
        if self._answers == 0 and isinstance(failure, EndpointRejectedError | EndpointUnreachableError):
            raise PolicyUnavailableError(str(failure)) from None
        raise InfrastructureError(f"the model's endpoint failed: {failure}") from None

    def _body(self) -> dict[str, Any]:
        conversation = self._conversation
        return APIS[self._settings.api].body(self._settings, conversation.messages, conversation.tools)
