"""Vector environment: several episodes on one server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import gymnasium
from gymnasium.vector import SyncVectorEnv

from companyos.integrations.enterprise_connection import EnterpriseConnection
from companyos.integrations.gymnasium.environment import CompanyOSGym


class CompanyOSVectorGym(SyncVectorEnv):
    """Several CompanyOSGym on one server, stepped sequentially; `close` stops a local server.

    `gymnasium.make_vec` passes its `max_episode_steps`, which is the `step_limit` of each environment.
    """

    def __init__(
        self, num_envs: int = 1, *, url: str | None = None, max_episode_steps: int | None = None, **options: Any
    ) -> None:
        if max_episode_steps is not None:
            options["step_limit"] = max_episode_steps
        self._enterprise = EnterpriseConnection(url)

        def make_env() -> gymnasium.Env[str, str]:
            return CompanyOSGym(self._enterprise.url, **options)

        super().__init__(cast("list[Callable[[], gymnasium.Env[Any, Any]]]", [make_env] * num_envs))

    def close_extras(self, **options: Any) -> None:
        """Close every episode, and stop the local server if it was started here."""
        super().close_extras(**options)
        self._enterprise.close()
