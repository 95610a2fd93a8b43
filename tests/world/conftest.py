"""Fixtures: worlds for tests."""

from __future__ import annotations

import pytest

from companyos_gateway.world import WorldBuilder, finish_world, generate_world
from companyos_shared.streams import Stream


def draw_world(seed: int) -> WorldBuilder:
    world = generate_world(Stream("a test", seed))
    finish_world(world)
    return world


@pytest.fixture(params=range(5))
def world(request: pytest.FixtureRequest) -> WorldBuilder:
    return draw_world(request.param)
