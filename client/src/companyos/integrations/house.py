"""Where the enterprise is: at an address, or started on this machine when it is first asked for."""

from __future__ import annotations

import atexit
import threading
from types import TracebackType
from typing import Self

from companyos.enterprise import Enterprise


class House:
    """An address to play at. Without a URL an enterprise of its own is started once and ends with `close`."""

    def __init__(self, url: str | None = None) -> None:
        self._given = url
        self._own: Enterprise | None = None
        self._starting = threading.Lock()

    @property
    def url(self) -> str:
        """The address. Raises EnterpriseFailed where an enterprise of its own cannot be started."""
        if self._given is not None:
            return self._given
        with self._starting:
            if self._own is None:
                self._own = Enterprise(alone=True).__enter__()
                atexit.register(self.close)
            return self._own.url

    def close(self) -> None:
        """Stop the enterprise where it is our own."""
        with self._starting:
            own, self._own = self._own, None
        if own is not None:
            own.stop()
            atexit.unregister(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
