"""The episodes of the playground: one per visitor, for as long as the page is open."""

from __future__ import annotations

from typing import Any

from companyos_gateway.api.openenv_environment import reset_options
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.errors import NotResetError
from companyos_gateway.runtime import GatewayRuntime


class Visitors:
    """The episodes of visitors by session hash."""

    def __init__(self, runtime: GatewayRuntime) -> None:
        self._runtime = runtime
        self._episodes: dict[str, Episode] = {}

    async def reset(self, visitor: str, options: dict[str, Any]) -> Episode:
        """Replace the episode of a visitor; raises the errors of `GatewayRuntime.reset`."""
        previous = self._episodes.get(visitor)
        episode = await self._runtime.reset(reset_options(options))
        self._forget_closed()
        self._episodes[visitor] = episode
        if previous is not None:
            self._runtime.engine().store.free(previous)
        return episode

    def episode(self, visitor: str) -> Episode:
        """Return the episode of a visitor; raises NotResetError (409) if there is none."""
        episode = self._episodes.get(visitor)
        if episode is None:
            raise NotResetError
        return episode

    def leave(self, visitor: str) -> None:
        """Free the episode of a visitor whose page was closed."""
        episode = self._episodes.pop(visitor, None)
        if episode is not None:
            self._runtime.engine().store.free(episode)

    def _forget_closed(self) -> None:
        self._episodes = {name: episode for name, episode in self._episodes.items() if not episode.closed}
