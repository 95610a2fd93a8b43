"""No regular expression of the gateway and the services takes quadratic time on any searched text."""

from __future__ import annotations

import importlib
import pkgutil
import re
import time
from collections.abc import Iterator
from itertools import product
from types import ModuleType

import pytest

import companyos_approvalflow
import companyos_datahub
import companyos_gateway
import companyos_shared
import companyos_ticketdesk

pytestmark = pytest.mark.matrix

PACKAGES = (
    companyos_approvalflow,
    companyos_datahub,
    companyos_gateway,
    companyos_shared,
    companyos_ticketdesk,
)
SMALL, LARGE = 1024, 8 * 1024
HARMLESS_S = 0.005
"""A quadratic expression takes longer than this at the large size."""
REPEATS = 4
SLACK = 3.0
_ALWAYS = 'a0 "\\\n'


def _modules() -> Iterator[ModuleType]:
    for package in PACKAGES:
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__") and ".solution" not in found.name:
                try:
                    yield importlib.import_module(found.name)
                except ImportError:
                    continue  # requires a library of an optional extra


def _patterns() -> dict[str, re.Pattern[str]]:
    found = {}
    for module in _modules():
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                found[f"{module.__name__}.{name}"] = value
    return found


def _texts(pattern: re.Pattern[str]) -> Iterator[str]:
    """Yield the units of hostile texts: each special character of the pattern, and each pair of them."""
    signs = sorted({*_ALWAYS, *(sign for sign in pattern.pattern if not sign.isalnum())})
    yield from signs
    yield from ("".join(pair) for pair in product(signs, repeat=2) if pair[0] != pair[1])


def _took_s(pattern: re.Pattern[str], text: str) -> float:
    began = time.process_time()
    pattern.sub("", text)
    pattern.fullmatch(text)
    return time.process_time() - began


def _superlinear(pattern: re.Pattern[str]) -> str | None:
    """Return a unit of text on which the pattern takes more than linear time, with the times, or None."""
    for unit in _texts(pattern):
        for last in ("", "\0"):
            small, large = (unit * (size // len(unit)) + last for size in (SMALL, LARGE))
            if _took_s(pattern, large) <= HARMLESS_S:
                continue
            small_s, large_s = (min(_took_s(pattern, text) for _ in range(REPEATS)) for text in (small, large))
            if large_s > max(small_s * LARGE / SMALL * SLACK, HARMLESS_S):
                return f"{unit!r} {small_s * 1000:.1f} ms small, {large_s * 1000:.1f} ms large"
    return None


def test_no_pattern_of_any_module_takes_quadratic_time() -> None:
    patterns = _patterns()
    assert len(patterns) > len(PACKAGES)
    assert {name: found for name, pattern in patterns.items() if (found := _superlinear(pattern))} == {}


def test_a_quadratic_pattern_is_detected() -> None:
    assert _superlinear(re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL))
