"""Settings of model calls."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

_KEY = re.compile(r"[!-~]+")
TIMEOUT_S = 300.0
RETRIES = 6
ANSWER_SHARE = 8
"""Divisor: 1 / ANSWER_SHARE of the context is reserved for the response if no limit is set."""

_RESERVED_FIELDS = frozenset(
    {"background", "conversation", "input", "instructions", "messages", "model", "n", "previous_response_id"}
    | {"stream", "system", "tools"}
)
"""Request fields that only the policy sets."""


@dataclass(frozen=True, kw_only=True)
class Provider:
    """The default base URL of an API, and the environment variables that its official client reads."""

    base_url: str
    key_variable: str
    base_url_variable: str

    def base_url_from_environment(self) -> str:
        """Return the base URL in the environment, or the default."""
        return os.environ.get(self.base_url_variable, "").strip() or self.base_url

    def key_from_environment(self) -> str | None:
        """Return the key in the environment, if set."""
        return os.environ.get(self.key_variable, "").strip() or None


_OPENAI = Provider(
    base_url="https://api.openai.com/v1", key_variable="OPENAI_API_KEY", base_url_variable="OPENAI_BASE_URL"
)
_ANTHROPIC = Provider(
    base_url="https://api.anthropic.com", key_variable="ANTHROPIC_API_KEY", base_url_variable="ANTHROPIC_BASE_URL"
)
PROVIDERS: Mapping[str, Provider] = {"chat": _OPENAI, "responses": _OPENAI, "anthropic": _ANTHROPIC}
"""The provider of each API."""

DEFAULT_API = "chat"


class InvalidSettingsError(ValueError):
    """Raised for invalid settings."""


@dataclass(frozen=True, kw_only=True)
class LlmSettings:
    """A model at an endpoint. The key is never stored. Raises InvalidSettingsError."""

    model: str
    api: str = DEFAULT_API
    """Format of requests: `chat`, `responses` or `anthropic`."""
    base_url: str = ""
    """Base URL of the endpoint, by default the provider's."""
    temperature: float | None = None
    max_output_tokens: int | None = None
    context_limit: int | None = None
    """Maximum tokens of request and response; None relies on the endpoint's error."""
    price_in: float | None = None
    """Price per million prompt tokens."""
    price_cached: float | None = None
    """Price per million prompt tokens that the endpoint read from its cache; by default the prompt price."""
    price_cache_write: float | None = None
    """Price per million prompt tokens that the endpoint wrote to its cache; by default the prompt price."""
    price_out: float | None = None
    """Price per million completion tokens."""
    max_tokens: int | None = None
    """Tokens of an episode after which the policy gives up."""
    max_cost: float | None = None
    """Cost of an episode after which the policy gives up."""
    timeout_s: float = TIMEOUT_S
    retries: int = RETRIES
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Additional fields of every request."""
    api_key: str | None = field(default=None, repr=False)
    is_dry_run: bool = False
    """True if a stub responds instead of the model."""

    def __post_init__(self) -> None:
        """Raise InvalidSettingsError for invalid values."""
        provider = provider_of(self.api)
        if not self.base_url:
            object.__setattr__(self, "base_url", provider.base_url)
        _check_base_url(self.base_url, provider)
        if not self.model.strip():
            raise InvalidSettingsError("model must not be empty")
        self._check_prices()
        if reserved := sorted(_RESERVED_FIELDS & set(self.extra_body)):
            raise InvalidSettingsError(f"{', '.join(reserved)} cannot be set as additional request fields")
        if self.api_key is not None and not _KEY.fullmatch(self.api_key):
            raise InvalidSettingsError(f"{provider.key_variable} contains characters that are not allowed in a header")
        is_provider = self.base_url.rstrip("/").removesuffix("/v1") == provider.base_url.removesuffix("/v1")
        if self.api_key is None and not self.is_dry_run and is_provider:
            raise InvalidSettingsError(f"{provider.key_variable} is not set; {provider.base_url} requires a key")

    def _check_prices(self) -> None:
        if (self.price_in is None) != (self.price_out is None):
            raise InvalidSettingsError("the cost requires both prices, for prompt and completion tokens")
        if self.price_in is None and (self.price_cached is not None or self.price_cache_write is not None):
            raise InvalidSettingsError("prices of cached tokens require those of prompt and completion tokens")
        if self.max_cost is not None and self.price_in is None:
            raise InvalidSettingsError("a limit of the cost requires prices")

    @property
    def label(self) -> str:
        """Name of the model in usage reports, marked for dry runs."""
        return f"{self.model} (dry run)" if self.is_dry_run else self.model

    def cost(self, prompt: int, completion: int, *, cached: int, cache_written: int) -> float | None:
        """Return the cost of tokens in the currency of the prices; None without prices.

        `cached` and `cache_written` are parts of the prompt tokens.
        """
        if self.price_in is None or self.price_out is None:
            return None
        cached_prices = (self.price_cached, self.price_cache_write)
        return token_cost((self.price_in, self.price_out), cached_prices, prompt, completion, cached, cache_written)

    def to_json(self) -> dict[str, Any]:
        """Return the settings that shape an episode or its usage, without the key."""
        return {
            "model": self.model,
            "api": self.api,
            "base_url": self.base_url,
            "temperature": self.temperature,
            "max_output_tokens": self.max_output_tokens,
            "context_limit": self.context_limit,
            "price_in": self.price_in,
            "price_cached": self.price_cached,
            "price_cache_write": self.price_cache_write,
            "price_out": self.price_out,
            "max_tokens": self.max_tokens,
            "max_cost": self.max_cost,
            "extra_body": dict(self.extra_body),
            "dry_run": self.is_dry_run,
        }


def token_cost(
    prices: tuple[float, float],
    cached_prices: tuple[float | None, float | None],
    prompt: int,
    completion: int,
    cached: int,
    cache_written: int,
) -> float:
    """Return the cost of tokens; `cached` and `cache_written` are parts of the prompt tokens.

    Prices are per million tokens: `prices` for prompt and completion, `cached_prices` for tokens read from the cache
    and written to it, by default the prompt price.
    """
    price_in, price_out = prices
    price_read, price_written = (price_in if price is None else price for price in cached_prices)
    uncached = (prompt - cached - cache_written) * price_in
    return (uncached + cached * price_read + cache_written * price_written + completion * price_out) / 1_000_000


def provider_of(api: str) -> Provider:
    """Return the provider of an API. Raises InvalidSettingsError."""
    if api not in PROVIDERS:
        raise InvalidSettingsError(f"api must be one of {', '.join(PROVIDERS)}; got {api!r}")
    return PROVIDERS[api]


def _check_base_url(base_url: str, provider: Provider) -> None:
    try:
        parts = urlsplit(base_url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_address = False
    if not is_address:
        raise InvalidSettingsError(f"base_url must be an HTTP URL such as {provider.base_url}; got {base_url!r}")
    if "@" in parts.netloc or parts.query:
        raise InvalidSettingsError(
            f"base_url must not contain credentials; the key is read from {provider.key_variable}"
        )
