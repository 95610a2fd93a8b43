"""`CompanyOSEnv`: the typed client of a running CompanyOS, on OpenEnv's own EnvClient."""

from __future__ import annotations

import re
from typing import Any, Self, TypedDict, Unpack, cast

from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient
from openenv.core.env_server.mcp_types import ListToolsObservation
from openenv.core.env_server.types import Observation

from companyos.contract import (
    CallToolAction,
    CompanyOSObservation,
    CompanyOSResetObservation,
    CompanyOSState,
    ListToolsAction,
    ToolSpec,
)

Action = CallToolAction | ListToolsAction | dict[str, Any]

_SERVER_ERROR = re.compile(r"Server error: (?P<message>.*) \(code: (?P<code>\w+)\)", re.DOTALL)


class ResetArguments(TypedDict, total=False):
    """The options of `reset`, as `companyos.contract.ResetOptions` describes them; all may be left out."""

    scenario: str
    seed: int
    chaos: int
    chaos_overrides: dict[str, float]
    episode_id: str
    completion: str
    shaping: str
    reward_scale: str
    toolset: str


class ServerRefusal(RuntimeError):
    """The server refuses a message before it becomes a step: `code` is OpenEnv's, `message` starts with ours."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(f"{message} ({code})")
        self.message = message
        self.code = code


class CompanyOSEnv(EnvClient[Action, Observation, CompanyOSState]):
    """One session with a CompanyOS over its WebSocket: `async with CompanyOSEnv(base_url=...)`, or `.sync()`.

    `reset`, `step` and `state` are OpenEnv's and answer `StepResult`s whose observation is a
    CompanyOSResetObservation, a CompanyOSObservation or a ListToolsObservation, and a CompanyOSState. Every method
    raises ServerRefusal when the server refuses the message, and ConnectionError when it cannot be reached.
    """

    def reset(self, **options: Unpack[ResetArguments]) -> Any:  # type: ignore[override]  # narrower on purpose
        """Begin a new episode; the result's observation is a CompanyOSResetObservation."""
        return super().reset(**options)

    async def call_tool(self, tool: str, /, **arguments: Any) -> StepResult[CompanyOSObservation]:
        """Take one step: call a tool by its name with the arguments of its schema."""
        result = await self._step_async(CallToolAction(tool_name=tool, arguments=arguments))
        return cast("StepResult[CompanyOSObservation]", result)

    async def list_tools(self) -> list[ToolSpec]:
        """Return the tools of the episode, or all of them before the first reset. It is no step."""
        result = await self._step_async(ListToolsAction())
        if not isinstance(result.observation, ListToolsObservation):
            raise ServerRefusal("The server does not list its tools.", "UNEXPECTED_ANSWER")
        return [ToolSpec.model_validate(tool.model_dump()) for tool in result.observation.tools]

    async def new_session(self) -> Self:
        """Return another connected session with the same server; this one closes it when it closes."""
        return cast("Self", await super().new_session())

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        return self

    async def _send_and_receive(self, message: dict[str, Any]) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = await super()._send_and_receive(message)
        except RuntimeError as error:
            if (found := _SERVER_ERROR.fullmatch(str(error))) is None:
                raise
            raise ServerRefusal(found["message"], found["code"]) from None
        return answer

    def _step_payload(self, action: Action) -> dict[str, Any]:
        return action if isinstance(action, dict) else action.model_dump(mode="json", exclude={"metadata"})

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[Any]:
        observed = dict(payload["observation"])
        reward, done = payload.get("reward"), payload.get("done", False)
        observation = _observation_class(observed).model_validate({**observed, "reward": reward, "done": done})
        return StepResult(observation=observation, reward=reward, done=done, metadata=payload.get("metadata"))

    def _parse_state(self, payload: dict[str, Any]) -> CompanyOSState:
        return CompanyOSState.model_validate(payload)


def _observation_class(observed: dict[str, Any]) -> type[Observation]:
    if "tools" in observed:
        return ListToolsObservation
    return CompanyOSObservation if "tool_name" in observed else CompanyOSResetObservation
