"""Connection to a server at a URL, or to one that is started on first use."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from companyos.enterprise import Enterprise


class EnterpriseConnection:
    """Connection to the server at a URL. Without a URL, a local server is started on first use and stopped by `close`.

    `settings` are environment variables of the local server.
    """

    def __init__(self, url: str | None = None, *, settings: Mapping[str, str] | None = None) -> None:
        self._url = url
        self._settings = settings
        self._owned: Enterprise | None = None
        self._start_lock = threading.Lock()

    @property
    def url(self) -> str:
        """URL of the server. Raises EnterpriseError if the local server cannot be started."""
        if self._url is not None:
            return self._url
        with self._start_lock:
            if self._owned is None:
                self._owned = Enterprise(settings=self._settings, alone=True).__enter__()
                atexit.register(self.close)
            return self._owned.url

    def close(self) -> None:
        """Stop the local server, if it was started here."""
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
