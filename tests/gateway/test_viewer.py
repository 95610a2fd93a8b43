"""Functions of the viewer and the console: parts of rewards, chart ticks and Markdown."""

from __future__ import annotations

import pytest

from companyos.contract import Outcome, RewardScale, Shaping
from companyos_gateway.engine.reward import RewardLedger, StepKind
from companyos_gateway.evaluation import Verdict
from companyos_gateway.ui.console.scenario_routes import render_markdown
from companyos_gateway.viewer.serialize import reward_parts


def a_verdict(*, potential: float = 0.0, damage: tuple[str, ...] = (), rejections: int = 0) -> Verdict:
    return Verdict(success=False, potential=potential, damage=damage, rejections=rejections, checks=())


@pytest.mark.parametrize("scale", list(RewardScale))
@pytest.mark.parametrize("shaping", list(Shaping))
def test_the_parts_of_every_reward_sum_to_it(shaping: Shaping, scale: RewardScale) -> None:
    ledger = RewardLedger(shaping, scale)
    verdicts = [a_verdict(potential=2.0), a_verdict(potential=1.0, damage=("one", "two", "three"), rejections=2)]
    for kind in StepKind:
        for verdict in verdicts:
            for end in (None, Outcome.FAILED, Outcome.SUCCESS):
                before = ledger.balance
                reward = ledger.add_step(kind, verdict, end)
                parts = reward_parts(reward, before, ledger.balance, shaping=shaping, scale=scale)
                assert sum(part.paid for part in parts) == pytest.approx(reward, abs=1e-5)


def test_each_part_of_a_reward_is_named() -> None:
    ledger = RewardLedger()
    before = ledger.balance
    reward = ledger.add_step(
        StepKind.PROBLEM, a_verdict(potential=3.0, damage=("harm",), rejections=1), Outcome.OUT_OF_STEPS
    )
    parts = reward_parts(reward, before, ledger.balance, shaping=Shaping.MILESTONES, scale=RewardScale.ORIGINAL)
    assert {part.part: part.paid for part in parts} == {
        "milestones": 3.0,
        "rejection and cost of the step": -0.9,
        "damage": -2.0,
        "end": -5.0,
    }


def test_markdown_is_rendered_as_text_except_for_strong_and_code() -> None:
    html = str(render_markdown("**Done** means `resolve` of [it](https://elsewhere); <script>alert(1)</script> & more"))
    assert html == (
        "<strong>Done</strong> means <code>resolve</code> of it; &lt;script&gt;alert(1)&lt;/script&gt; &amp; more"
    )
