"""Seeded defects replace attributes of the product by name; every name must exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from verification.defects import FAULT_DEFECTS, SIMULATION_DEFECTS


class RecordingPatch:
    """Stands in for `pytest.MonkeyPatch` and records the attributes instead of setting them."""

    def __init__(self) -> None:
        self.targets: list[tuple[Any, str]] = []

    def setattr(self, target: Any, name: str, _value: object) -> None:
        self.targets.append((target, name))


@pytest.mark.parametrize("install", {**SIMULATION_DEFECTS, **FAULT_DEFECTS}.values())
def test_a_defect_replaces_attributes_that_exist(install: Callable[[Any], None]) -> None:
    patch = RecordingPatch()
    install(patch)
    assert patch.targets
    assert [attribute for target, attribute in patch.targets if not hasattr(target, attribute)] == []
