"""The exception for errors of the server, independent of the transport, and the text of validation errors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

_PROBLEM = re.compile(r"[a-z][a-z0-9-]*(?=: )")


class ApiError(RuntimeError):
    """Raised if the server rejects a request; the request has no effect.

    `message` starts with the stable CompanyOS code, such as `unknown-snapshot: ...`. `code` is that code for HTTP and
    OpenEnv's code for the WebSocket; `status` is the HTTP status, if any.
    """

    def __init__(self, message: str, code: str, status: int | None = None) -> None:
        super().__init__(message if _PROBLEM.match(message) else f"{message} ({code})")
        self.message = message
        self.code = code
        self.status = status

    @property
    def problem(self) -> str | None:
        """Stable CompanyOS code, such as `unknown-episode`; None for errors of the framework."""
        match = _PROBLEM.match(self.message)
        return match[0] if match else None


def first_validation_error(error: ValidationError) -> str:
    """Return the place and the message of the first error."""
    first = error.errors(include_input=False, include_url=False)[0]
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
