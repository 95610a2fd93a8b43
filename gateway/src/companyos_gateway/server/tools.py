"""The routes that tell what can be called."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request

from companyos_gateway.server.documented import DOCUMENTED_PROBLEMS
from companyos_gateway.server.house import House
from companyos_gateway.server.planes import check_is_trainer, episode_asked_for
from companyos_gateway.server.queries import KNOWN_QUERIES
from companyos_gateway.server.tool_formats import ToolFormat, ToolList, described

_ID = "The id that the reset answered."

Form = Annotated[ToolFormat, Query(description="`transformers` is for `apply_chat_template(tools=...)`.")]


def tools_router(house: House) -> APIRouter:
    """Return the route that lists tools: every one of the house, or an episode's."""
    router = APIRouter(responses=DOCUMENTED_PROBLEMS, tags=["Tools"], dependencies=KNOWN_QUERIES)

    @router.get("/v1/tools")
    async def tools(
        request: Request,
        episode_id: Annotated[str | None, Query(description=_ID, max_length=128)] = None,
        format: Form = ToolFormat.ANTHROPIC,
    ) -> ToolList:
        """List the tools: all of them, or those that an episode offers."""
        if episode_id is None:
            check_is_trainer(request)
            return described(house.engine().tools(None), format)
        return _of_episode(house, request, episode_id, format)

    return router


def episode_tools_router(house: House) -> APIRouter:
    """Return the route that lists an episode's tools by the episode's own address."""
    router = APIRouter(responses=DOCUMENTED_PROBLEMS, tags=["Tools"], dependencies=KNOWN_QUERIES)

    @router.get("/v1/episodes/{episode_id}/tools")
    async def episode_tools(
        request: Request,
        episode_id: Annotated[str, Path(description=_ID, max_length=128)],
        format: Form = ToolFormat.ANTHROPIC,
    ) -> ToolList:
        """List the tools that an episode offers, as its toolset and its drift have them."""
        return _of_episode(house, request, episode_id, format)

    return router


def _of_episode(house: House, request: Request, episode_id: str, form: ToolFormat) -> ToolList:
    engine = house.engine()
    return described(engine.tools(episode_asked_for(request, engine.store, episode_id)), form)
