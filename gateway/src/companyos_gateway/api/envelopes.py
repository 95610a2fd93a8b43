"""Request and response models of `reset` and `step` over HTTP."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

import orjson
from fastapi.responses import Response
from openenv.core.env_server.mcp_types import CallToolAction, ListToolsAction
from openenv.core.env_server.types import Observation
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from companyos.contract import ResetOptions
from companyos_gateway.engine.errors import InvalidActionError
from companyos_gateway.engine.json_schemas import make_nullable

StepModel = TypeVar("StepModel", bound="StepBody")


class StepResponse(BaseModel):
    """The response to a step."""

    observation: dict[str, Any]
    reward: float | None = Field(description="Reward of the step; null with an episode token.")
    done: bool


class ResetResponse(StepResponse):
    """The response to a reset, with the episode's id and token."""

    episode_id: str
    token: str = Field(repr=False, description="The episode token. Used by the agent and by `resume`.")


class StepBody(BaseModel):
    """An action. Pass `step` to make retries safe: a repeated step returns the stored response."""

    model_config = ConfigDict(extra="forbid", strict=True)

    action: dict[str, Any] = Field(examples=[{"tool_name": "wait", "arguments": {"minutes": 5}}])
    step: int | None = Field(None, ge=1, description="Number of the step, from 1.")


class StepRequest(StepBody):
    """An action of an episode. Pass `step` to make retries safe: a repeated step returns the stored response."""

    episode_id: str = Field(max_length=128)


def parse_step(model: type[StepModel], body: dict[str, Any]) -> StepModel:
    """Return the validated body; raises InvalidActionError (422)."""
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise InvalidActionError(_format_errors(error)) from None


def parse_action(body: dict[str, Any]) -> CallToolAction | ListToolsAction:
    """Return the action of a body; raises InvalidActionError (422)."""
    model = ListToolsAction if body.get("type") == "list_tools" else CallToolAction
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise InvalidActionError(_format_errors(error, "action.")) from None


def envelope(observation: Observation, *, with_reward: bool = True, **fields: Any) -> bytes:
    """Return the response body of a reset or a step as JSON, with additional top-level fields.

    Agents get no reward, because they could use rewards to search for the state that earns them.
    """
    content = {
        "observation": observation.model_dump(exclude={"reward", "done"}),
        "reward": observation.reward if with_reward else None,
        "done": observation.done,
        **fields,
    }
    return orjson.dumps(content, option=orjson.OPT_UTC_Z)


def json_response(content: bytes, status: int = 200, **headers: str) -> Response:
    """Return a response with content that is already serialized."""
    return Response(content, status_code=status, media_type="application/json", headers=headers)


@cache
def request_body_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the OpenAPI schema of a body that the middleware parses. The result is cached: do not modify it.

    Reset options may be null.
    """
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    if model is ResetOptions:
        schema["properties"] = {name: make_nullable(option) for name, option in schema["properties"].items()}
    return {"requestBody": {"required": False, "content": {"application/json": {"schema": schema}}}}


def _format_errors(error: ValidationError, prefix: str = "") -> str:
    return "; ".join(f"{prefix}{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
