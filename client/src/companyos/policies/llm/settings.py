"""What is asked of which model, and how."""

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
"""Fields of a request that nobody sets but the policy."""


class InvalidSettingsError(ValueError):
    """Raised for settings that no endpoint can be asked with."""


@dataclass(frozen=True, kw_only=True)
class LlmSettings:
    """One model at one endpoint. The key is never written anywhere. Raises InvalidSettingsError."""

    model: str
    base_url: str = DEFAULT_BASE_URL
    temperature: float | None = None
    max_output_tokens: int | None = None
    context_limit: int | None = None
    """Tokens that a request and its answer may have together; None leaves it to the endpoint to complain."""
    price_in: float | None = None
    """Price of a million prompt tokens."""
    price_out: float | None = None
    """Price of a million completion tokens."""
    timeout_s: float = TIMEOUT_S
    retries: int = RETRIES
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of every request."""
    api_key: str | None = field(default=None, repr=False)
    is_dry_run: bool = False
    """Whether no model is asked, but somebody in its place."""

    def __post_init__(self) -> None:
        """Refuse what cannot be asked with."""
        _check_base_url(self.base_url)
        if not self.model.strip():
            raise InvalidSettingsError("the model has no name")
        if (self.price_in is None) != (self.price_out is None):
            raise InvalidSettingsError("a cost needs both prices, of tokens in and of tokens out")
        if reserved := sorted(_RESERVED_FIELDS & set(self.extra_body)):
            raise InvalidSettingsError(f"{', '.join(reserved)} cannot be among the further fields of a request")
        if self.api_key is not None and not _KEY.fullmatch(self.api_key):
            raise InvalidSettingsError(f"{KEY_VARIABLE} holds signs that no header carries")
        if self.api_key is None and not self.is_dry_run and self.base_url.rstrip("/") == DEFAULT_BASE_URL:
            raise InvalidSettingsError(f"{KEY_VARIABLE} is not set, and {DEFAULT_BASE_URL} asks for a key")

    @property
    def label(self) -> str:
        """What the account names: the model, and whether it was asked at all."""
        return f"{self.model} (dry run)" if self.is_dry_run else self.model

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """Return what tokens cost, in the currency of the prices; None without prices."""
        if self.price_in is None or self.price_out is None:
            return None
        return (prompt_tokens * self.price_in + completion_tokens * self.price_out) / 1_000_000

    def to_json(self) -> dict[str, Any]:
        """Return what a run is told apart by: everything that shapes an episode or its account, and never the key."""
        return {
            "model": self.model,
            "base_url": self.base_url,
            "temperature": self.temperature,
            "max_output_tokens": self.max_output_tokens,
            "context_limit": self.context_limit,
            "price_in": self.price_in,
            "price_out": self.price_out,
            "extra_body": dict(self.extra_body),
            "dry_run": self.is_dry_run,
        }


def key_from_environment() -> str | None:
    """Return the key that the environment holds, if any."""
    return os.environ.get(KEY_VARIABLE, "").strip() or None


def _check_base_url(base_url: str) -> None:
    try:
        parts = urlsplit(base_url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_address = False
    if not is_address:
        raise InvalidSettingsError(f"{base_url!r} is no address of an endpoint, such as {DEFAULT_BASE_URL}")
    if "@" in parts.netloc or parts.query:
        raise InvalidSettingsError(f"an address carries no credentials; the key is read from {KEY_VARIABLE}")
