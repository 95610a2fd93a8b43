"""Nonce and wall clock for control calls. The simulation uses neither."""

from __future__ import annotations

import secrets
import time

_NONCE_BYTES = 16


def new_nonce() -> str:
    """Return a new random nonce."""
    return secrets.token_hex(_NONCE_BYTES)


def wall_clock() -> float:
    """Return the wall clock as Unix time in seconds."""
    return time.time()  # noqa: TID251 - two processes have no other clock in common
