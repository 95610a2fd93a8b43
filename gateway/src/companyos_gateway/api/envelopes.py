"""Request bodies and response envelopes of reset and step over plain HTTP."""

from __future__ import annotations

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


class StepAnswer(BaseModel):
    """The standard envelope of a step."""

    observation: dict[str, Any]
    reward: float | None
    done: bool


class ResetAnswer(StepAnswer):
    """The standard envelope of a reset, and the id to step with."""

    episode_id: str
    token: str = Field(repr=False, description="The episode's token: for its agent, and for `resume`.")


class StepBody(BaseModel):
    """One action. With `step` the last step can be asked for again and is never taken twice."""

    model_config = ConfigDict(extra="forbid", strict=True)

    action: dict[str, Any] = Field(examples=[{"tool_name": "wait", "arguments": {"minutes": 5}}])
    step: int | None = Field(None, ge=1, description="The number of the step, from 1.")


class StepRequest(StepBody):
    """One action of one episode. With `step` the last step can be asked for again and is never taken twice."""

    episode_id: str = Field(max_length=128)


def parse_step(kind: type[StepModel], body: dict[str, Any]) -> StepModel:
    """Return what a body asks for; raises InvalidActionError (422)."""
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        raise InvalidActionError(_named(error)) from None


def parse_action(body: dict[str, Any]) -> CallToolAction | ListToolsAction:
    """Return the action of a body; raises InvalidActionError (422)."""
    kind = ListToolsAction if body.get("type") == "list_tools" else CallToolAction
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        raise InvalidActionError(_named(error, "action.")) from None


def envelope(observation: Observation, **more: Any) -> bytes:
    """Return the standard envelope as JSON, with what an answer says besides."""
    content = {
        "observation": observation.model_dump(exclude={"reward", "done"}),
        "reward": observation.reward,
        "done": observation.done,
        **more,
    }
    return orjson.dumps(content, option=orjson.OPT_UTC_Z)


def json_response(content: bytes, status: int = 200, **headers: str) -> Response:
    """Return JSON that is written already."""
    return Response(content, status_code=status, media_type="application/json", headers=headers)


def request_body_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the OpenAPI of a body that the guard has read already; an option of a reset that is null is none."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    if model is ResetOptions:
        schema["properties"] = {name: make_nullable(option) for name, option in schema["properties"].items()}
    return {"requestBody": {"required": False, "content": {"application/json": {"schema": schema}}}}


def _named(error: ValidationError, inside: str = "") -> str:
    return "; ".join(f"{inside}{'.'.join(map(str, found['loc']))}: {found['msg']}" for found in error.errors())
