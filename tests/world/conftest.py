"""Worlds for tests."""

from __future__ import annotations

import pytest

from companyos_gateway.world import World, finish_world, generate_world
from companyos_shared.streams import Stream


def draw_world(seed: int) -> World:
    world = generate_world(Stream("a test", seed))
    finish_world(world)
    return world


@pytest.fixture(params=range(5))
def world(request: pytest.FixtureRequest) -> World:
    return draw_world(request.param)
