"""Stateful plain HTTP beside the WebSocket: five lines of `requests` run an episode."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Query, Request
from fastapi.responses import PlainTextResponse, Response
from openenv.core.env_server.mcp_types import CallToolAction, ListToolsAction
from openenv.core.env_server.types import Observation
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from companyos.contract import CompanyOSState, ResetOptions, ToolSpec
from companyos_gateway.episode.environment import Stage
from companyos_gateway.episode.episode import Episode
from companyos_gateway.episode.errors import InvalidAction
from companyos_gateway.episode.observations import tools_observation
from companyos_gateway.episode.schemas import nullable
from companyos_gateway.server.documented import DOCUMENTED_PROBLEMS
from companyos_gateway.server.guard import JSON_SCOPE_KEY
from companyos_gateway.server.house import House
from companyos_gateway.server.openenv_environment import reset_options
from companyos_gateway.server.planes import check_is_trainer, episode_asked_for
from companyos_gateway.server.rendering import RenderedEpisode, rendered, rendered_text

_PLAIN_TEXT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}

EpisodeId = Annotated[str, Query(description="The id that the reset answered.", max_length=128)]


class ResetAnswer(BaseModel):
    """The standard envelope of a reset, and the id to step with."""

    observation: dict[str, Any]
    reward: float | None
    done: bool
    episode_id: str
    token: str = Field(repr=False, description="The episode's token: for its agent, and for `resume`.")


class StepRequest(BaseModel):
    """One action of one episode. With `step` the last step can be asked for again and is never taken twice."""

    model_config = ConfigDict(extra="forbid", strict=True)

    episode_id: str = Field(max_length=128)
    action: dict[str, Any] = Field(examples=[{"tool_name": "wait", "arguments": {"minutes": 5}}])
    step: int | None = Field(None, ge=1, description="The number of the step, from 1.")


class StepAnswer(BaseModel):
    """The standard envelope of a step."""

    observation: dict[str, Any]
    reward: float | None
    done: bool


def plain_http_router(house: House) -> APIRouter:
    """Return the routes; they come before the framework's own of the same paths."""
    router = APIRouter(responses=DOCUMENTED_PROBLEMS)

    @router.post("/reset", response_model=ResetAnswer, openapi_extra=_body_of(ResetOptions), tags=["Episode"])
    async def reset(request: Request) -> Response:
        """Start an episode.

        Every option may be left out: a bare reset plays the default scenario with a seed of the house's choice, which
        `GET /state` tells.
        """
        episode = await house.begin(reset_options(request.scope[JSON_SCOPE_KEY]))
        return _envelope(episode.told_last(), episode_id=episode.id, token=episode.token)

    @router.post("/step", response_model=StepAnswer, openapi_extra=_body_of(StepRequest), tags=["Episode"])
    async def step(request: Request) -> Response:
        """Take one step: call one tool.

        An unknown tool, arguments that do not fit and refusals of a service are steps with an answer of 200. With
        `{"type": "list_tools"}` the tools are listed, which is no step.
        """
        asked = _step_request(request.scope[JSON_SCOPE_KEY])
        stage = house.stage()
        return _envelope(await _taken(stage, episode_asked_for(request, stage.store, asked.episode_id), asked))

    @router.get("/state", tags=["Episode"])
    async def state(episode_id: EpisodeId) -> CompanyOSState:
        """Read where an episode stands, as its trainer sees it."""
        return house.stage().store.get(episode_id).state()

    @router.get("/render", response_model=RenderedEpisode, responses=_PLAIN_TEXT, tags=["Episode"])
    async def render(episode_id: EpisodeId, mode: Literal["json", "text", "ansi"] = "json") -> Response:
        """Read an episode the way people read it: the brief, the clock and every step so far."""
        episode = house.stage().store.get(episode_id)
        if mode == "json":
            return Response(rendered(episode).model_dump_json(), media_type="application/json")
        return PlainTextResponse(rendered_text(rendered(episode), colour=mode == "ansi"))

    return router


def tools_router(house: House) -> APIRouter:
    """Return the routes that tell what can be called."""
    router = APIRouter(responses=DOCUMENTED_PROBLEMS)

    @router.get("/v1/tools", tags=["Tools"])
    async def tools(request: Request, episode_id: EpisodeId | None = None) -> list[ToolSpec]:
        """List the tools: all of them, or those that an episode offers."""
        stage = house.stage()
        if episode_id is None:
            check_is_trainer(request)
        episode = None if episode_id is None else episode_asked_for(request, stage.store, episode_id)
        return [
            ToolSpec(name=tool.name, description=tool.description, input_schema=tool.input_schema)
            for tool in stage.tools(episode)
        ]

    return router


async def _taken(stage: Stage, episode: Episode, asked: StepRequest) -> Observation:
    action = _action(asked.action)
    if isinstance(action, ListToolsAction):
        return tools_observation(stage.tools(episode), done=episode.done)
    return await stage.step(episode, action.tool_name, action.arguments, number=asked.step)


def _step_request(body: dict[str, Any]) -> StepRequest:
    try:
        return StepRequest.model_validate(body)
    except ValidationError as error:
        raise InvalidAction(_named(error)) from None


def _action(body: dict[str, Any]) -> CallToolAction | ListToolsAction:
    kind = ListToolsAction if body.get("type") == "list_tools" else CallToolAction
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        raise InvalidAction(_named(error, "action.")) from None


def _named(error: ValidationError, inside: str = "") -> str:
    return "; ".join(f"{inside}{'.'.join(map(str, found['loc']))}: {found['msg']}" for found in error.errors())


def _envelope(observation: Observation, **more: Any) -> Response:
    content = {
        "observation": observation.model_dump(exclude={"reward", "done"}),
        "reward": observation.reward,
        "done": observation.done,
        **more,
    }
    return Response(orjson.dumps(content, option=orjson.OPT_UTC_Z), media_type="application/json")


def _body_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return the OpenAPI of a body that the guard has read already; an option of a reset that is null is none."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    if model is ResetOptions:
        schema["properties"] = {name: nullable(option) for name, option in schema["properties"].items()}
    return {"requestBody": {"required": False, "content": {"application/json": {"schema": schema}}}}
