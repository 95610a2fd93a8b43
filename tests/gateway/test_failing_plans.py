"""Scenarios whose plan fails: the reset fails, and other tasks are planned afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest

from companyos_gateway.scenarios import Instance
from tests.gateway.conftest import OpenGateway
from tests.gateway.notes import NoteKeeping

EMPTY, STOPPED, INVALID = 1, 2, 4


@dataclass(frozen=True)
class Failing(NoteKeeping):
    """Scenario that plans no documents for one seed, raises StopIteration for another, and misspells a table."""

    def plan(self, seed_: int, chaos: int, overrides: Mapping[str, float] | None = None) -> Instance:
        if seed_ == STOPPED:
            next(iter(()))
        instance = super().plan(seed_, chaos, overrides)
        if seed_ == INVALID:
            return replace(instance, documents={name: {**one, "notez": []} for name, one in instance.documents.items()})
        return replace(instance, documents={}) if seed_ == EMPTY else instance


@pytest.mark.timeout(20)
@pytest.mark.parametrize("seed", [EMPTY, STOPPED])
async def test_a_failing_plan_does_not_block_others(open_gateway: OpenGateway, seed: int) -> None:
    async with open_gateway(Failing()) as gateway:
        failed = await gateway.http.post("/reset", json={"scenario": "note_keeping", "seed": seed})
        assert (failed.status_code, failed.json()["code"]) == (500, "internal-error")
        await gateway.reset(seed=3)


async def test_the_error_for_an_invalid_seed_document_names_the_service_and_the_field(
    open_gateway: OpenGateway,
) -> None:
    async with open_gateway(Failing()) as gateway:
        failed = await gateway.http.post("/reset", json={"scenario": "note_keeping", "seed": INVALID})
        assert (failed.status_code, failed.json()["code"]) == (503, "services-unavailable")
        detail = failed.json()["detail"]
        assert detail.startswith("A service failed to load the task. notes: load returned status 422: invalid-seed: ")
        assert "notez" in detail
