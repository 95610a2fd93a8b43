"""How a process speaks of itself, from its environment."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field
from pydantic_settings import BaseSettings, SettingsConfigDict

Level = Literal["debug", "info", "warning", "error"]


class TelemetrySettings(BaseSettings):
    """COMPANYOS_LOG_* environment variables. Traces are asked for by the standard OTEL_* variables alone."""

    model_config = SettingsConfigDict(env_prefix="COMPANYOS_", env_ignore_empty=True, frozen=True)

    log_format: Literal["json", "console"] | None = Field(
        None,
        description="`json`: a line of JSON for each event; `console`: for people. Default: as stderr is a terminal.",
    )
    log_level: Annotated[Level, BeforeValidator(lambda text: text.lower() if isinstance(text, str) else text)] = Field(
        "info", description="What is not worth a line."
    )
