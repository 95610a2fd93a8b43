"""Types of client options: reset and connection arguments."""

from __future__ import annotations

from typing import Any, TypedDict

from companyos.contract import CallToolAction, InjectedState, ListToolsAction, Viewport

Action = CallToolAction | ListToolsAction | dict[str, Any]
"""A tool call, a request for the tool list, or either as a dictionary."""

RESUME_WITHIN_S = 10.0
"""Default time in seconds for reconnecting to an episode."""


class ResetArguments(TypedDict, total=False):
    """Options of `reset`, described in `companyos.contract.ResetOptions`; all are optional."""

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
    prefetch: int
    resume: str
    injected_state: InjectedState | dict[str, str]


class ConnectionOptions(TypedDict, total=False):
    """Further options of OpenEnv's EnvClient; all are optional."""

    connect_timeout_s: float
    message_timeout_s: float
    max_message_size_mb: float
    websocket_ping_interval_s: float | None
    websocket_ping_timeout_s: float | None
    provider: Any
    mode: str
