"""What is said where a library is not there that an integration stands on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from companyos.extras import installing


@contextmanager
def needs(library: str, extra: str) -> Iterator[None]:
    """Import a library. Raises ImportError that names the extra which brings it."""
    try:
        yield
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] != library:
            raise
        raise ImportError(f"{library} is not installed: {installing(extra)}", name=library) from None
