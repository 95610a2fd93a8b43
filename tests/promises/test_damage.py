"""Damaged data folders: anything that is not as before is in quarantine. `make damage` runs many more trials."""

from __future__ import annotations

import asyncio
import shutil

import pytest

from companyos_gateway.engine.quarantine import Quarantine
from tests.promises.damage import DAMAGES, run

pytestmark = pytest.mark.integration

TRIALS, TRIALS_OF_A_DEFECT = 30, 4


def test_damage_to_any_file_is_harmless_or_quarantined() -> None:
    outcomes = asyncio.run(run(range(TRIALS), seed=0, quiet=True))
    assert {outcome.damage for outcome in outcomes} == set(DAMAGES)
    assert [(outcome.file, outcome.violations) for outcome in outcomes if outcome.violations] == []


def test_a_start_that_deletes_unreadable_files_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    def delete(self: Quarantine, internal_id: str, _error: Exception) -> None:
        shutil.rmtree(self._files.folder(internal_id))

    monkeypatch.setattr(Quarantine, "add_episode", delete)
    outcomes = asyncio.run(run(range(TRIALS_OF_A_DEFECT), seed=0, quiet=True))
    assert any("was removed" in violation for outcome in outcomes for violation in outcome.violations)
