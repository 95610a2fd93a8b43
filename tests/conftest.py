"""For all tests: the garbage collector does not go through what was imported again and again, and files that share an
enterprise are run by the same worker."""

from __future__ import annotations

import gc
from typing import Any

import pytest

SHARING = {
    "tests/integration/": "integration",
    "tests/integrations/": "integrations",
    "tests/client/test_branching.py": "guarded",
    "tests/client/test_live_commands.py": "guarded",
}
"""Files that share an enterprise, by how their names begin: each further worker would start one more."""


def pytest_collection_finish() -> None:
    """Set what collecting has loaded apart: a tenth of the time of most tests went into looking through it."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep files whole, and together where they share an enterprise; None where another way was asked for."""
    from xdist.scheduler import LoadFileScheduling

    class Sharing(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            own = super()._split_scope(nodeid)
            return next((shared for start, shared in SHARING.items() if own.startswith(start)), own)

    return Sharing(config, log) if config.getoption("dist") == "loadfile" else None
