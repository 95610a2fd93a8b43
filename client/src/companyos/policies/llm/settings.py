"""Settings of model calls."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

DEFAULT_BASE_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"
_KEY = re.compile(r"[!-~]+")
TIMEOUT_S = 300.0
RETRIES = 6
_RESERVED_FIELDS = frozenset({"model", "messages", "tools", "stream", "n"})
"""Request fields that only the policy sets."""


class InvalidSettingsError(ValueError):
    """Raised for invalid settings."""


@dataclass(frozen=True, kw_only=True)
class LlmSettings:
    """A model at an endpoint. The key is never stored. Raises InvalidSettingsError."""

    model: str
    base_url: str = DEFAULT_BASE_URL
    temperature: float | None = None
    max_output_tokens: int | None = None
    context_limit: int | None = None
    """Maximum tokens of request and response; None relies on the endpoint's error."""
    price_in: float | None = None
    """Price per million prompt tokens."""
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
    """Whether a stub answers instead of the model."""

    def __post_init__(self) -> None:
        """Raise InvalidSettingsError for invalid values."""
        _check_base_url(self.base_url)
        if not self.model.strip():
            raise InvalidSettingsError("model must not be empty")
        if (self.price_in is None) != (self.price_out is None):
            raise InvalidSettingsError("the cost requires both prices, for prompt and completion tokens")
        if self.max_cost is not None and self.price_in is None:
            raise InvalidSettingsError("a limit of the cost requires prices")
        if reserved := sorted(_RESERVED_FIELDS & set(self.extra_body)):
            raise InvalidSettingsError(f"{', '.join(reserved)} cannot be set as additional request fields")
        if self.api_key is not None and not _KEY.fullmatch(self.api_key):
            raise InvalidSettingsError(f"{KEY_VARIABLE} contains characters that are not allowed in a header")
        if self.api_key is None and not self.is_dry_run and self.base_url.rstrip("/") == DEFAULT_BASE_URL:
            raise InvalidSettingsError(f"{KEY_VARIABLE} is not set; {DEFAULT_BASE_URL} requires a key")

    @property
    def label(self) -> str:
        """Name of the model in usage reports, marked for dry runs."""
        return f"{self.model} (dry run)" if self.is_dry_run else self.model

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """Return the cost of tokens in the currency of the prices; None without prices."""
        if self.price_in is None or self.price_out is None:
            return None
        return (prompt_tokens * self.price_in + completion_tokens * self.price_out) / 1_000_000

    def to_json(self) -> dict[str, Any]:
        """Return the settings that shape an episode or its usage, without the key."""
        return {
            "model": self.model,
            "base_url": self.base_url,
            "temperature": self.temperature,
            "max_output_tokens": self.max_output_tokens,
            "context_limit": self.context_limit,
            "price_in": self.price_in,
            "price_out": self.price_out,
            "max_tokens": self.max_tokens,
            "max_cost": self.max_cost,
            "extra_body": dict(self.extra_body),
            "dry_run": self.is_dry_run,
        }


def key_from_environment() -> str | None:
    """Return the key from the environment, if set."""
    return os.environ.get(KEY_VARIABLE, "").strip() or None


def _check_base_url(base_url: str) -> None:
    try:
        parts = urlsplit(base_url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_address = False
    if not is_address:
        raise InvalidSettingsError(f"base_url must be an HTTP URL such as {DEFAULT_BASE_URL}; got {base_url!r}")
    if "@" in parts.netloc or parts.query:
        raise InvalidSettingsError(f"base_url must not contain credentials; the key is read from {KEY_VARIABLE}")
