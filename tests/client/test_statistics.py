"""The figures of a run and their intervals, and curves over the chaos levels."""

from __future__ import annotations

import sys
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from companyos.cli.main import app
from companyos.cli.results import features_table, scorecard_table
from companyos.contract import EpisodeRecord, EpisodeVerdict, FeatureCount, Outcome, Scorecard
from companyos.runner import summarise
from companyos.runner.plots import draw_curves, return_points, success_points
from companyos.runner.statistics import pass_ks, return_interval, steps_ratio, success_interval, wilson_interval
from companyos_gateway.scenarios.shift_features import Feature
from tests.client.builders import a_record


def test_steps_are_compared_on_tasks_that_both_policies_solved() -> None:
    oracle = [a_record(success=True, steps=20), a_record(success=True, steps=10).model_copy(update={"seed": 1})]
    slow = [a_record(success=True, steps=30), a_record(steps=99).model_copy(update={"seed": 1})]
    assert steps_ratio(slow, oracle) == 1.5
    assert steps_ratio([a_record(steps=99)], oracle) is None


def test_steps_are_compared_with_the_mean_of_the_reference_in_any_order_of_its_trials() -> None:
    trials = [a_record(success=True, steps=steps) for steps in (10, 30)]
    for reference in (trials, trials[::-1]):
        assert steps_ratio([a_record(success=True, steps=40)], reference) == 2


def test_the_tickets_with_a_feature_of_shifts_are_summed_by_policy() -> None:
    def shift(**features: tuple[int, int]) -> EpisodeRecord:
        counts = {name: FeatureCount(tickets=tickets, solved=solved) for name, (tickets, solved) in features.items()}
        verdict = EpisodeVerdict(potential=0.0, success=False, damage=(), rejections=0, checks=(), features=counts)
        return a_record().model_copy(update={"verdict": verdict})

    table = features_table({"slow": [shift(freeze=(3, 1)), shift(freeze=(2, 2), sole_assignee=(1, 0))], "p": [shift()]})
    assert table is not None
    assert [column.header for column in table.columns] == ["feature", "slow", "p"]
    assert [list(column.cells) for column in table.columns] == [
        ["freeze", "sole assignee"],
        ["3 of 5", "0 of 1"],
        ["-", "-"],
    ]
    assert features_table({"p": [a_record()]}) is None


def test_the_names_of_all_features_are_shown_completely_in_a_narrow_terminal() -> None:
    features = {feature.value: FeatureCount(tickets=12, solved=5) for feature in Feature}
    verdict = EpisodeVerdict(potential=0.0, success=False, damage=(), rejections=0, checks=(), features=features)
    record = a_record().model_copy(update={"verdict": verdict})
    shown = StringIO()
    Console(width=80, file=shown).print(features_table({f"package.module:Policy{n}": [record] for n in range(4)}))
    assert [name for name in features if f"{name.replace('_', ' ')} " not in shown.getvalue()] == []
    assert "…" not in shown.getvalue()


@pytest.mark.parametrize("with_oracle", [True, False])
def test_the_scorecard_compares_steps_if_the_oracle_played(*, with_oracle: bool) -> None:
    counts = {"goals": 1, "goals_met": 1, "duplicates": 0, "collateral_changes": 0, "refused_approvers": 0}
    card = Scorecard.model_validate({**counts, "faults": {}, "resisted_injection": None})
    verdict = EpisodeVerdict(potential=0.0, success=True, damage=(), rejections=0, checks=(), scorecard=card)
    record = a_record(success=True).model_copy(update={"verdict": verdict})
    table = scorecard_table({"slow": [record], **({"oracle": [record]} if with_oracle else {})})
    assert [column.header for column in table.columns][-1] == ("steps / oracle" if with_oracle else "refused approvers")


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),  # Newcombe 1998, table I
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (29, 29, 0.8830, 1.0),
    ],
)
def test_the_interval_matches_published_values(successes: int, trials: int, low: float, high: float) -> None:
    assert wilson_interval(successes, trials) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_contains_the_share_and_stays_within_0_and_1(drawn: tuple[int, int]) -> None:
    successes, trials = drawn
    low, high = wilson_interval(successes, trials)
    assert 0 <= low <= successes / trials <= high <= 1


@pytest.mark.parametrize(("successes", "trials"), [(0, 0), (3, 2), (-1, 2)])
def test_an_impossible_share_has_no_interval(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match="between 0 and trials"):
        wilson_interval(successes, trials)


def test_a_summary_counts_means_and_successes() -> None:
    summary = summarise([a_record(success=True, return_=20.0, steps=30), a_record(return_=-6.0, steps=10)])
    assert (summary.episodes, summary.successes, summary.success_rate) == (2, 1, 0.5)
    assert (summary.mean_return, summary.mean_steps) == (7.0, 20.0)
    assert (summary.success_low, summary.success_high) == wilson_interval(1, 2)


def test_an_infra_error_is_listed_and_stays_in_the_denominator() -> None:
    broken = a_record(outcome=Outcome.INFRA_ERROR, return_=1.0)
    summary = summarise([a_record(success=True), broken])
    assert (summary.infra_errors, summary.episodes, summary.success_rate) == (1, 2, 0.5)


def test_an_episode_that_ended_with_a_policy_error_is_not_counted_as_an_infra_error() -> None:
    raised = a_record().model_copy(update={"trouble": "the policy raised KeyError: 'key'"})
    broken = a_record(outcome=Outcome.INFRA_ERROR).model_copy(update={"trouble": "ConnectionError"})
    summary = summarise([a_record(success=True), raised, broken])
    assert (summary.policy_errors, summary.infra_errors, summary.episodes) == (1, 1, 3)


@pytest.mark.parametrize("policies", [[], ["a", "b"]])
def test_one_policy_is_summarised_at_a_time(policies: list[str]) -> None:
    with pytest.raises(ValueError, match="one policy"):
        summarise([a_record(policy=policy) for policy in policies])


def the_trials(*counts: tuple[int, int]) -> list[EpisodeRecord]:
    """Return the trials of one task for each pair of successes and trials."""
    return [
        a_record(success=number < successes).model_copy(update={"seed": seed, "trial": number + 1})
        for seed, (successes, trials) in enumerate(counts)
        for number in range(trials)
    ]


def test_pass_k_is_the_mean_over_tasks_of_the_probability_that_k_trials_succeed() -> None:
    summary = summarise(the_trials((4, 4), (2, 4), (0, 4)))
    assert summary.success_rate == pytest.approx(summary.pass_hat(1))
    assert summary.pass_hat(1) == pytest.approx((1 + 2 / 4 + 0) / 3)
    assert summary.pass_hat(2) == pytest.approx((1 + 1 / 6 + 0) / 3)
    assert summary.pass_hat(4) == pytest.approx(1 / 3)
    assert summary.pass_hat(5) is None


def test_episodes_of_different_tasks_are_not_trials_of_one() -> None:
    summary = summarise(the_trials((1, 1), (1, 1), (0, 1), (1, 1)))
    assert (summary.pass_hat(1), summary.pass_hat(2), summary.fewest_trials) == (0.75, None, 1)


@given(st.lists(st.tuples(st.integers(0, 4), st.just(4)), min_size=1, max_size=8))
def test_pass_k_decreases_with_k_and_never_exceeds_the_share_of_successes(counts: list[tuple[int, int]]) -> None:
    summary = summarise(the_trials(*counts))
    output = [summary.pass_hat(k) or 0.0 for k in (1, 2, 3, 4)]
    assert output == sorted(output, reverse=True)
    assert output[0] == pytest.approx(summary.success_rate)


def test_correlated_trials_of_a_task_widen_the_interval() -> None:
    together = summarise(the_trials(*[(8, 8)] * 5, *[(0, 8)] * 5))
    apart = wilson_interval(40, 80)
    assert together.success_high - together.success_low > 2 * (apart[1] - apart[0])


def test_more_trials_give_more_values_of_pass_k() -> None:
    assert [pass_ks(trials) for trials in (0, 1, 2, 3, 5, 8)] == [[], [], [2], [2, 3], [2, 4, 5], [2, 4, 8]]


PNG = b"\x89PNG\r\n"


def test_a_point_is_the_mean_of_its_level_with_an_interval() -> None:
    records = [a_record(chaos=0, return_=value) for value in (20.0, 22.0)] + [a_record(chaos=4, return_=-5.0)]
    first, last = return_points(records)
    assert (first.level, first.mean, last.level, last.mean) == (0, 21.0, 4, -5.0)
    assert first.high - first.mean == pytest.approx(1.96, abs=1e-3)
    assert (last.low, last.high) == (-5.0, -5.0)
    shares = success_points([a_record(chaos=2, success=won) for won in (True, True, False, False)])
    assert [(one.level, one.mean) for one in shares] == [(2, 0.5)]
    assert shares[0].low < 0.5 < shares[0].high


def test_correlated_outcomes_of_a_scenario_widen_the_interval() -> None:
    together = [a_record(scenario=name, success=name < "c", seed=n) for name in "abcd" for n in range(25)]
    apart = [a_record(scenario=name, success=n % 2 == 0, seed=n) for name in "abcd" for n in range(26)]
    wide, usual = success_interval(together), success_interval(apart)
    assert wide[1] - wide[0] > 3 * (usual[1] - usual[0])
    assert usual == pytest.approx(wilson_interval(52, 104))


def test_identical_trials_do_not_narrow_the_interval() -> None:
    once = [a_record(seed=seed, success=seed < 3, return_=float(seed)) for seed in range(10)]
    often = [record.model_copy(update={"trial": trial}) for record in once for trial in range(1, 9)]
    assert success_interval(often) == pytest.approx(success_interval(once))
    assert return_interval(often) == pytest.approx(return_interval(once))


def test_without_successes_the_interval_depends_on_the_number_of_tasks() -> None:
    never = [a_record(seed=seed).model_copy(update={"trial": n}) for seed in range(20) for n in range(1, 5)]
    assert success_interval(never) == pytest.approx(wilson_interval(0, 20))


def test_correlated_returns_of_a_scenario_widen_the_interval() -> None:
    together = [a_record(scenario=name, return_=float(ord(name)), seed=n) for name in "abcd" for n in range(25)]
    apart = [a_record(scenario=name, return_=float(n % 4), seed=n) for name in "abcd" for n in range(24)]
    (low, high), (least, most) = return_interval(together), return_interval(apart)
    assert high - low > 3 * (most - least)


def test_the_figure_is_a_png(tmp_path: Path) -> None:
    records = [a_record(chaos=level, policy=name, success=level < 2) for level in range(5) for name in ("one", "two")]
    draw_curves(records, tmp_path / "curves.png", title="tiny")
    assert (tmp_path / "curves.png").read_bytes().startswith(PNG)


def test_plotting_without_matplotlib_names_the_missing_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"matplotlib is not installed: .*\[plots\]'"):
        draw_curves([a_record()], tmp_path / "curves.png", title="tiny")


def test_eval_plays_several_policies_at_several_levels_and_plots_them(tiny_url: str, tmp_path: Path) -> None:
    picture = tmp_path / "curves.png"
    options = ["--scenario", "tiny", "-n", "2", "--chaos", "4", "--chaos", "0", "--url", tiny_url]
    who = ["--policy", "noop", "--policy", "random"]
    answer = CliRunner().invoke(app, ["eval", *who, *options, "--plot", str(picture)])
    assert answer.exit_code == 0, answer.output
    assert "tiny, chaos 0, 4, seeds 0 to 1" in answer.stdout
    rows = [line.split()[:2] for line in answer.stdout.splitlines() if line.startswith(("noop", "random"))]
    assert rows == [["noop", "4"], ["random", "4"], *[["noop", "2"], ["random", "2"]] * 2]
    assert picture.read_bytes().startswith(PNG)
