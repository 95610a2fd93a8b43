"""Configuration of all tests: garbage collection, order of files, and sharing of enterprises between files."""

from __future__ import annotations

import gc
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
import requests
import typer.testing

from companyos.openenv_preload import preload_openenv

preload_openenv()  # before any test imports it completely: Gradio takes longer than everything else
# Typer builds the command at every call, which takes longer than most commands.
typer.testing._get_command = cache(typer.testing._get_command)  # type: ignore[attr-defined]

SHARING = {
    "tests/gateway/test_lazy_app.py": "playground",
    "tests/gateway/test_playground.py": "playground",
    "tests/integration/": "integration",
    "tests/integrations/": "integrations",
    "tests/client/test_snapshots.py": "guarded",
    "tests/client/test_live_commands.py": "guarded",
}
"""Groups of files that run on one worker, by path prefix: they share an enterprise, or the pages of Gradio."""


@pytest.fixture
def http() -> Iterator[requests.Session]:
    """A session that never asks a proxy."""
    with requests.Session() as session:
        session.trust_env = False
        yield session


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what a sample leaves out, and let the files that may take longest start first."""
    _mark_samples(items)
    limits: defaultdict[Path, float] = defaultdict(float)
    for item in items:
        if (marker := item.get_closest_marker("timeout")) is not None:
            limits[item.path] = max(limits[item.path], marker.args[0] if marker.args else marker.kwargs["timeout"])
    counts = Counter(item.path for item in items)
    items.sort(key=lambda item: (-limits[item.path], -counts[item.path]))


def _mark_samples(items: Sequence[pytest.Item]) -> None:
    """Select that many evenly spaced cases of each test marked `sample`; mark the other cases as `matrix`.

    The first selected case depends on the name of the test, so that not all tests select the same service or scenario.
    """
    cases: dict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if (marker := item.get_closest_marker("sample")) is not None:
            cases[item.nodeid.partition("[")[0], marker.args[0]].append(item)
    for (test, kept), group in cases.items():
        for number, item in enumerate(group, crc32(test.encode())):
            place = number % len(group)
            if place * kept // len(group) == (place - 1) * kept // len(group):
                item.add_marker("matrix")


def pytest_collection_finish() -> None:
    """Exclude the objects loaded during collection from garbage collection, which took a tenth of most tests' time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep files whole, together where they share something, and in order; None where another way was asked for."""
    if config.getoption("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False  # its order by number of tests would start the few long files last
    scheduler = import_module("xdist.scheduler").LoadFileScheduling(config, log)
    file_of = scheduler._split_scope

    def scope_of(nodeid: str) -> str:
        file: str = file_of(nodeid)
        return next((shared for start, shared in SHARING.items() if file.startswith(start)), file)

    scheduler._split_scope = scope_of
    return scheduler
