"""Uvicorn options of the gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from companyos_shared.serving import SERVER_OPTIONS

if TYPE_CHECKING:
    from companyos_gateway.settings import Settings

UVICORN_OPTIONS: dict[str, Any] = {
    **SERVER_OPTIONS,
    "http": "companyos_gateway.middleware.connection_limits:HttpProtocol",
    "ws": "companyos_gateway.middleware.connection_limits:WebSocketProtocol",
    "ws_per_message_deflate": False,
    "ws_ping_interval": 20.0,
    "ws_ping_timeout": 20.0,
    "ws_max_size": 1024 * 1024,
    "timeout_graceful_shutdown": 1,  # accepted requests have been drained before
}


def uvicorn_options(settings: Settings) -> dict[str, Any]:
    """Return the options with the ping interval and timeout from the settings."""
    return {
        **UVICORN_OPTIONS,
        "ws_ping_interval": settings.ws_ping_interval_s,
        "ws_ping_timeout": settings.ws_ping_timeout_s,
    }
