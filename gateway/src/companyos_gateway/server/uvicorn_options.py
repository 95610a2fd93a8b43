"""How every process of the house serves HTTP."""

from __future__ import annotations

from typing import Any

UVICORN_OPTIONS: dict[str, Any] = {
    "workers": 1,
    "loop": "uvloop",
    "http": "httptools",
    "ws": "websockets-sansio",
    "ws_per_message_deflate": False,
    "ws_ping_interval": 20.0,
    "ws_ping_timeout": 20.0,
    "ws_max_size": 1024 * 1024,
    "timeout_keep_alive": 120,
    "timeout_graceful_shutdown": 10,
    "access_log": False,
}
