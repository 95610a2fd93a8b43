"""Current operation of a process, which is added to log lines and spans."""

from __future__ import annotations

import hashlib
from contextvars import ContextVar, Token
from typing import NamedTuple

_TRACE_ID_BYTES = 16


class Operation(NamedTuple):
    """A step of an episode, identified by internal id; step 0 is the reset."""

    episode: str
    epoch: int
    step: int

    @property
    def trace_id(self) -> str:
        """The trace id of the step, 32 hexadecimal characters.

        It is a digest of the op id, so all processes compute the same trace id, and a repeated step has the same
        trace, even after a crash.
        """
        return hashlib.blake2b(
            f"{self.episode}:{self.epoch}:{self.step}".encode(), digest_size=_TRACE_ID_BYTES
        ).hexdigest()


_OP: ContextVar[Operation | None] = ContextVar("companyos_op", default=None)


def current_op() -> Operation | None:
    """Return the current operation, or None."""
    return _OP.get()


class OperationScope:
    """Set the current operation inside the block."""

    __slots__ = ("_op", "_token")

    def __init__(self, episode: str, epoch: int, step: int) -> None:
        self._op = Operation(episode, epoch, step)
        self._token: Token[Operation | None] | None = None

    def __enter__(self) -> Operation:
        self._token = _OP.set(self._op)
        return self._op

    def __exit__(self, *_error: object) -> None:
        assert self._token is not None
        _OP.reset(self._token)
