"""HTTP client for the gateway that classifies responses: success, problem with a stable code, broken connection."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import aiohttp
import orjson

DEADLINE_S = 10.0
"""Deadline for every response, including restarts, in seconds."""

INTERNAL_ERROR = 500
PROBLEM = "application/problem+json"


class Kind(Enum):
    """The outcomes of a request."""

    DONE = auto()
    REFUSED = auto()
    BROKEN = auto()
    UNCLEAR = auto()


@dataclass(frozen=True)
class Response:
    """The outcome of one request. `code` is the problem's; `why` is the reason for an unclear or broken response."""

    kind: Kind
    status: int = 0
    body: Any = field(default_factory=dict)
    code: str = ""
    why: str = ""

    @property
    def is_done(self) -> bool:
        """Return whether the request succeeded."""
        return self.kind is Kind.DONE

    def __str__(self) -> str:
        return f"{self.status or '-'} {self.code or self.why or self.kind.name.lower()}"


class GatewayClient:
    """Plain HTTP client of one gateway process. A restarted gateway requires a new client."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), trust_env=False)

    async def aclose(self) -> None:
        """Close all connections."""
        await self.session.close()

    async def request(self, method: str, path: str, body: Any = None, *, deadline_s: float = DEADLINE_S) -> Response:
        """Send one request without retries and return its outcome."""
        content = None if body is None else orjson.dumps(body)
        headers = {} if content is None else {"Content-Type": "application/json"}
        try:
            async with asyncio.timeout(deadline_s):
                async with self.session.request(method, self.url + path, data=content, headers=headers) as response:
                    return parse_response(response.status, response.content_type, await response.read())
        except TimeoutError:
            return Response(Kind.UNCLEAR, why=f"no response to {method} {path} within {deadline_s:.0f} s")
        except (aiohttp.ClientError, OSError) as error:
            return Response(Kind.BROKEN, why=type(error).__name__)


def parse_response(status: int, media_type: str, content: bytes) -> Response:
    """Classify a response: success is JSON, a refusal is a problem with a code, an internal error is always unclear."""
    try:
        body = orjson.loads(content) if content else {}
    except orjson.JSONDecodeError:
        return Response(Kind.UNCLEAR, status, why=f"invalid JSON: {content[:80]!r}")
    if status < 400:
        return Response(Kind.DONE, status, body)
    code = body.get("code") if isinstance(body, dict) else None
    if media_type != PROBLEM or not isinstance(code, str):
        return Response(Kind.UNCLEAR, status, body, why=f"status {status} without a problem code: {content[:80]!r}")
    if status == INTERNAL_ERROR:
        return Response(Kind.UNCLEAR, status, body, code, why=f"{status} {code}")
    return Response(Kind.REFUSED, status, body, code)
