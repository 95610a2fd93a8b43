"""Logging settings from the environment."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field
from pydantic_settings import BaseSettings, SettingsConfigDict

Level = Literal["debug", "info", "warning", "error"]


class TelemetrySettings(BaseSettings):
    """Settings from COMPANYOS_LOG_* environment variables. The standard OTEL_* variables enable tracing."""

    model_config = SettingsConfigDict(env_prefix="COMPANYOS_", env_ignore_empty=True, frozen=True)

    log_format: Literal["json", "console"] | None = Field(
        None,
        description="`json` or `console` (readable text). Default: `console` if stderr is a terminal, else `json`.",
    )
    log_level: Annotated[Level, BeforeValidator(lambda text: text.lower() if isinstance(text, str) else text)] = Field(
        "info", description="Minimum level of logged events."
    )
