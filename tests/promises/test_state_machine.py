"""Random operations on three episodes: the enterprise always matches the model."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.promises.model_comparison import ModelMismatchError
from tests.promises.state_machine import EnterpriseMachine
from verification.defects import EPISODE_DEFECTS

pytestmark = pytest.mark.matrix

NIGHTLY = "nightly"
NIGHT_S = 3600.0

SMALL = settings(
    max_examples=15,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    database=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
DEFECT_SEARCH = settings(SMALL, max_examples=120, phases=[Phase.generate])
"""Settings for runs that search for a planted defect, without shrinking the example."""


@pytest.mark.timeout(NIGHT_S)
def test_three_episodes_behave_like_the_model(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = request.config.getoption("--defect", None)
    if planted:
        EPISODE_DEFECTS[planted](monkeypatch)
    is_night = request.config.getoption("--hypothesis-profile", None) == NIGHTLY
    run_state_machine_as_test(EnterpriseMachine, settings=settings.get_profile(NIGHTLY) if is_night else SMALL)


@pytest.mark.parametrize("defect", EPISODE_DEFECTS)
def test_a_planted_defect_is_detected(defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    EPISODE_DEFECTS[defect](monkeypatch)
    with pytest.raises(ModelMismatchError):
        run_state_machine_as_test(EnterpriseMachine, settings=DEFECT_SEARCH)
