"""Which operation a process is at work on: what log lines and spans are marked with."""

from __future__ import annotations

import hashlib
from contextvars import ContextVar, Token
from typing import NamedTuple

_TRACE_ID_BYTES = 16


class Op(NamedTuple):
    """A step of an episode, by its internal id; step 0 is its reset."""

    episode: str
    epoch: int
    step: int

    @property
    def trace_id(self) -> str:
        """The trace that the step belongs to, 32 hexadecimal characters.

        It is a digest of the op id, so every process that is told of a step knows its trace without being told, and a
        step that is carried out again, after a crash too, stays in its trace.
        """
        return hashlib.blake2b(
            f"{self.episode}:{self.epoch}:{self.step}".encode(), digest_size=_TRACE_ID_BYTES
        ).hexdigest()


_OP: ContextVar[Op | None] = ContextVar("companyos_op", default=None)


def current_op() -> Op | None:
    """Return what is at work here, None outside every operation."""
    return _OP.get()


class working_on:  # noqa: N801  # reads as what it is: `with working_on(episode, epoch, step):`
    """Everything inside the block belongs to this operation."""

    __slots__ = ("_op", "_token")

    def __init__(self, episode: str, epoch: int, step: int) -> None:
        self._op = Op(episode, epoch, step)
        self._token: Token[Op | None] | None = None

    def __enter__(self) -> Op:
        self._token = _OP.set(self._op)
        return self._op

    def __exit__(self, *_error: object) -> None:
        assert self._token is not None
        _OP.reset(self._token)
