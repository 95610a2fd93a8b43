"""Startup checks: invalid settings are reported in one line, without a traceback."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from companyos.entry_points import EntryPointError
from companyos_gateway.chaos import ChaosError
from companyos_gateway.engine.argument_errors import describe_invalid_value
from companyos_gateway.engine.tokens import InvalidSecretError, read_or_create_secret
from companyos_gateway.scenarios.catalogue import ScenarioError
from companyos_gateway.scenarios.validation import check_catalogue
from companyos_gateway.settings import Settings


class StartupError(Exception):
    """Raised for settings or scenarios that prevent the start. The message is one line and contains no secret."""


def load_checked_settings(gateway_folder: Path) -> Settings:
    """Return the settings of the environment; raises StartupError if they, the secret or the scenarios are invalid."""
    try:
        settings = Settings()
        settings.addresses()
        settings.key()
        settings.trainer()
    except ValidationError as error:
        raise StartupError("; ".join(map(_describe, error.errors()))) from None
    except OSError as error:
        raise StartupError(f"{error.filename} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise StartupError(str(error)) from None
    if settings.web and find_spec("gradio") is None:
        raise StartupError("COMPANYOS_WEB requires Gradio, which is not installed: pip install gradio")
    try:
        read_or_create_secret(gateway_folder)
    except InvalidSecretError as error:
        raise StartupError(str(error)) from None
    _check_scenarios()
    return settings


def _check_scenarios() -> None:
    try:
        check_catalogue()
    except (ScenarioError, ChaosError, EntryPointError) as error:
        raise StartupError(str(error).replace("\n", " ")) from None


def _describe(error: Mapping[str, Any]) -> str:
    """Return the requirement of a Pydantic error with the environment variable of the setting and its value."""
    name = ".".join(map(str, error["loc"])).upper()
    return f"{name if name.startswith('COMPANYOS_') else f'COMPANYOS_{name}'}: {describe_invalid_value(error)}"
