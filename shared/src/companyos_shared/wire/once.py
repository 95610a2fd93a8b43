"""Nonce and wall clock of control calls, which are accepted once and expire. Nothing of the world uses either."""

from __future__ import annotations

import secrets
import time

_NONCE_BYTES = 16


def new_nonce() -> str:
    """Return a nonce that no other call has."""
    return secrets.token_hex(_NONCE_BYTES)


def wall_clock() -> float:
    """Return the wall clock as Unix time."""
    return time.time()  # noqa: TID251 - two processes have no other clock in common
