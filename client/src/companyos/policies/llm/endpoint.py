"""Client of a model's endpoint. OpenAI's library sends and retries the requests of every API."""

from __future__ import annotations

import json
import re
import time
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self

import openai

from companyos.policies.json_values import sanitize_json
from companyos.policies.llm.apis import APIS, Answer, UnusableAnswerError
from companyos.policies.llm.settings import LlmSettings
from companyos.trainer import is_loopback

_CONTEXT_LENGTH_PATTERN = re.compile(
    r"context.?(?:length|window|size|limit)|maximum context|prompt is too long|too many tokens", re.I
)
_CLIENT_ERRORS = range(400, 500)
_TRANSIENT_STATUSES = frozenset({408, 409, 429})
"""Statuses below 500 that are retried."""

CONNECT_TIMEOUT_S = 10.0
_TEXT_CHARS = 400
_NO_KEY = "none"
"""Placeholder for a missing key; the header is omitted."""


class EndpointError(Exception):
    """Raised if the endpoint gave no usable response after all retries."""


class EndpointUnreachableError(EndpointError):
    """Raised if the endpoint is unreachable."""


class EndpointRejectedError(EndpointError):
    """Raised if the endpoint rejects the request; a retry would not help."""


class ContextLengthError(EndpointRejectedError):
    """Raised if the conversation exceeds the context of the model."""


class Endpoint:
    """Connection to the endpoint within an `async with` block; it counts requests."""

    def __init__(self, settings: LlmSettings, base_url: str) -> None:
        self.requests = 0
        self.latency_s = 0.0
        """Seconds spent waiting for responses, retries included."""
        self._completions = 0
        self._settings = settings
        self._api = APIS[settings.api]
        self._base_url = base_url.rstrip("/")
        if self._api.PATH.startswith("/v1/"):
            self._base_url = self._base_url.removesuffix("/v1")
        self._stack = AsyncExitStack()
        self._client: openai.AsyncOpenAI | None = None

    @property
    def retries(self) -> int:
        """Number of repeated requests."""
        return max(0, self.requests - self._completions)

    async def complete(self, body: dict[str, Any]) -> Answer:
        """Send a request, with retries. Raises EndpointError."""
        assert self._client is not None
        self._completions += 1
        before = self.requests
        started_at = time.monotonic()
        try:
            content = await self._client.post(
                self._api.PATH,
                cast_to=str,
                body=body,
                options={"headers": self._api.headers(self._settings.api_key)},
            )
        except openai.APIError as error:
            raise self._failure(error, self.requests - before) from None
        finally:
            self.latency_s += time.monotonic() - started_at
        return self._answer(content)

    def _answer(self, content: str) -> Answer:
        """Return the answer in a response. Raises EndpointError if there is none."""
        try:
            return self._api.answer(sanitize_json(json.loads(content)))
        except UnusableAnswerError as error:
            raise EndpointError(self._redact_key(f"the endpoint failed: {_exception_text(error)}")) from None
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            raise EndpointError(f"the endpoint returned an invalid {self._api.NAME}: {content[:_TEXT_CHARS]}") from None

    def _failure(self, error: openai.APIError, attempts: int) -> EndpointError:
        times = f" ({attempts} attempts)" if attempts > 1 else ""
        match error:
            case openai.APITimeoutError() if type(error.__cause__).__name__ != "ConnectTimeout":
                return EndpointError(f"no response within {self._settings.timeout_s:g} s{times}")
            case openai.APIConnectionError():
                cause = error.__cause__ or error
                return EndpointUnreachableError(
                    f"Failed to connect to {self._base_url}: {_exception_text(cause)}{times}"
                )
            case openai.APIStatusError():
                text = self._redact_key(f"the endpoint returned {error.status_code}: {_error_message(error)}{times}")
                if error.status_code not in _CLIENT_ERRORS or error.status_code in _TRANSIENT_STATUSES:
                    return EndpointError(text)
                return ContextLengthError(text) if _is_context_length_error(error) else EndpointRejectedError(text)
        return EndpointError(self._redact_key(_exception_text(error)))

    def _redact_key(self, text: str) -> str:
        """Return an error text of the endpoint without the key, which some endpoints repeat."""
        key = self._settings.api_key
        return text.replace(key, "***") if key else text

    async def _count(self, _request: object) -> None:
        self.requests += 1

    async def __aenter__(self) -> Self:
        http = openai.DefaultAsyncHttpxClient(
            trust_env=not is_loopback(self._base_url),
            verify=self._base_url.startswith("https"),
            event_hooks={"request": [self._count]},
        )
        client = openai.AsyncOpenAI(
            api_key=self._settings.api_key or _NO_KEY,
            base_url=self._base_url,
            timeout=openai.Timeout(self._settings.timeout_s, connect=min(CONNECT_TIMEOUT_S, self._settings.timeout_s)),
            max_retries=self._settings.retries,
            http_client=http,
        )
        self._client = await self._stack.enter_async_context(client)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()


def _is_context_length_error(error: openai.APIStatusError) -> bool:
    return error.code == "context_length_exceeded" or _CONTEXT_LENGTH_PATTERN.search(str(error)) is not None


def _error_message(error: openai.APIStatusError) -> str:
    """Return the error message of the endpoint."""
    match error.body:
        case {"message": str(message)} if message.strip():
            return " ".join(message.split())[:_TEXT_CHARS]
    return _exception_text(error)


def _exception_text(error: BaseException) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:_TEXT_CHARS]
