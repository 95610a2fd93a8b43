"""The policy that asks the model which Inspect evaluates: each call of it one step."""

from __future__ import annotations

from inspect_ai.model import ChatMessage, ChatMessageSystem, ChatMessageTool, ChatMessageUser, Model
from inspect_ai.tool import ToolCall, ToolInfo, ToolParams

from companyos.policies import Call, StepView, TaskView
from companyos.policies.llm.calls import MALFORMED
from companyos.policies.llm.policy import REMINDERS
from companyos.policies.llm.prompt import REMINDER, result_text, system_text, task_text


class AskingPolicy:
    """Plays by the tool calls of a model, as the policy `llm` does. `failure` is what the model broke on."""

    name = "inspect"

    def __init__(self, model: Model) -> None:
        self.messages: list[ChatMessage] = []
        self.failure: Exception | None = None
        self._model = model

    async def play(self, task: TaskView, call: Call) -> None:
        """Play until the episode is done, or until the model calls nothing any more."""
        self.messages[:] = [ChatMessageSystem(content=system_text(task)), ChatMessageUser(content=task_text(task))]
        tools = [
            ToolInfo(
                name=tool.name, description=tool.description, parameters=ToolParams.model_validate(tool.input_schema)
            )
            for tool in task.tools
        ]
        reminded = 0
        while reminded <= REMINDERS:
            calls = await self._asked(tools)
            for one in calls:
                step = await call(one.function, _arguments(one))
                self.messages.append(_told(one, step))
                if step.done:
                    return
            if calls:
                reminded = 0
            else:
                reminded += 1
                self.messages.append(ChatMessageUser(content=REMINDER))

    async def _asked(self, tools: list[ToolInfo]) -> list[ToolCall]:
        """Return the calls of the model's next message."""
        try:
            output = await self._model.generate(self.messages, tools=tools)
        except Exception as failure:
            self.failure = failure
            raise
        self.messages.append(output.message)
        return output.message.tool_calls or []


def _arguments(call: ToolCall) -> dict[str, object]:
    return call.arguments if call.parse_error is None else {MALFORMED: call.parse_error}


def _told(call: ToolCall, step: StepView) -> ChatMessageTool:
    return ChatMessageTool(content=result_text(step, call.parse_error), tool_call_id=call.id, function=call.function)
