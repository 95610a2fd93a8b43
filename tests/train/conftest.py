"""Fixtures for training tests: one real enterprise and a tiny model."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator

import pytest

from companyos.enterprise import Enterprise

os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
os.environ["HF_HUB_OFFLINE"] = "1"

collect_ignore_glob = [] if importlib.util.find_spec("trl") else ["test_*.py"]
"""`make train-test` has its own environment; in others, no test is collected."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/train" in item.path.as_posix():
            item.add_marker(pytest.mark.train)
            item.add_marker(pytest.mark.timeout(600))
            item.add_marker(pytest.mark.filterwarnings("ignore"))  # warnings of the training libraries


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """Give the address of a real enterprise."""
    with Enterprise(alone=True) as enterprise:
        yield enterprise.url
