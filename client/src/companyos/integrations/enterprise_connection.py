"""Where the enterprise is: at an address, or started on this machine when it is first asked for."""

from __future__ import annotations

import atexit
import threading
from types import TracebackType
from typing import Self

from companyos.enterprise import Enterprise


class EnterpriseConnection:
    """An address to play at. Without a URL an enterprise of its own is started once and ends with `close`."""

    def __init__(self, url: str | None = None) -> None:
        self._url = url
        self._owned: Enterprise | None = None
        self._start_lock = threading.Lock()

    @property
    def url(self) -> str:
        """The address. Raises EnterpriseError where an enterprise of its own cannot be started."""
        if self._url is not None:
            return self._url
        with self._start_lock:
            if self._owned is None:
                self._owned = Enterprise(alone=True).__enter__()
                atexit.register(self.close)
            return self._owned.url

    def close(self) -> None:
        """Stop the enterprise where it is our own."""
        with self._start_lock:
            owned, self._owned = self._owned, None
        if owned is not None:
            owned.stop()
            atexit.unregister(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
