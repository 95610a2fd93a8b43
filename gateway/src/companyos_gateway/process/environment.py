"""The environment of child processes: an allow-list, so that no secret of the gateway is inherited."""

from __future__ import annotations

import os
from collections.abc import Mapping

_NAMES = frozenset(
    {
        "PATH",
        "HOME",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "VIRTUAL_ENV",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "COMPANYOS_FAILPOINT",
        "COMPANYOS_LOG_FORMAT",
        "COMPANYOS_LOG_LEVEL",
        "COMPANYOS_MAX_OPEN_EPISODES",
        "COMPANYOS_MAX_TEMPLATE_BYTES",
        "COMPANYOS_MIN_FREE_BYTES",
    }
)
_PREFIXES = ("LC_", "LD_", "DYLD_", "PYTHON", "COVERAGE_", "OTEL_")
"""Prefixes of variables for the locale, the loader, the interpreter and the trace exporter."""


_SECRETS = ("COMPANYOS_TRAINER_TOKEN", "COMPANYOS_SERVICE_KEY")


def service_environment(inherited: Mapping[str, str] = os.environ, **own: str) -> dict[str, str]:
    """Return the environment of a service process: the allowed inherited variables and its own settings."""
    allowed = {name: value for name, value in inherited.items() if name in _NAMES or name.startswith(_PREFIXES)}
    return {**allowed, **own}


def remove_secrets_from_environment() -> None:
    """Remove the gateway's secrets from its environment once its settings are read.

    Playwright's driver is started with the whole environment of this process.
    """
    for name in _SECRETS:
        os.environ.pop(name, None)
