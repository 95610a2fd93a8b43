"""What a server refuses: one exception, whichever way the refusal came."""

from __future__ import annotations

import re

_PROBLEM = re.compile(r"[a-z][a-z0-9-]*(?=: )")


class ApiError(RuntimeError):
    """The server refuses a message or a request before it has any effect.

    `message` starts with our stable code, as in `unknown-snapshot: ...`. `code` is that code over plain HTTP and
    OpenEnv's own over the WebSocket; `status` is the HTTP status, where there was one.
    """

    def __init__(self, message: str, code: str, status: int | None = None) -> None:
        super().__init__(message if message.startswith(code) else f"{message} ({code})")
        self.message = message
        self.code = code
        self.status = status

    @property
    def problem(self) -> str | None:
        """Our stable code, such as `unknown-episode`; None for a refusal of the framework's own."""
        match = _PROBLEM.match(self.message)
        return match[0] if match else None
