"""What a client may be asked for: options of a reset, and of a connection."""

from __future__ import annotations

from typing import Any, TypedDict

from companyos.contract import CallToolAction, InjectedState, ListToolsAction, Viewport

Action = CallToolAction | ListToolsAction | dict[str, Any]
"""A tool call, a request for the tools, or either as a dictionary."""

RESUME_WITHIN_S = 10.0
"""How long a client tries to reconnect to its episode."""


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
    modality: str
    viewport: Viewport | dict[str, int]
    split: str
    index: int
    task_id: str
    resume: str
    injected_state: InjectedState | dict[str, str]


class ConnectionOptions(TypedDict, total=False):
    """What OpenEnv's EnvClient takes besides; all may be left out."""

    connect_timeout_s: float
    message_timeout_s: float
    max_message_size_mb: float
    websocket_ping_interval_s: float | None
    websocket_ping_timeout_s: float | None
    provider: Any
    mode: str
