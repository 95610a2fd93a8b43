"""Curves over the chaos levels: the points are means with intervals, and the picture is a PNG."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from companyos.cli.main import app
from companyos.runner import summarise
from companyos.runner.plots import PlottingUnavailableError, curves_of, draw_curves, return_points, success_points
from companyos.runner.statistics import return_interval, success_interval, wilson_interval
from tests.client.builders import a_record

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


def test_pass_k_is_the_share_of_k_episodes_that_all_succeed() -> None:
    summary = summarise([a_record(success=n < 3) for n in range(4)])
    assert [summary.pass_hat(k) for k in (1, 2, 4, 8)] == [0.75, 0.5, 0.0, None]


def test_the_figure_is_a_png(tmp_path: Path) -> None:
    records = [a_record(chaos=level, policy=name, success=level < 2) for level in range(5) for name in ("one", "two")]
    draw_curves(curves_of(records), tmp_path / "curves.png", title="tiny")
    assert (tmp_path / "curves.png").read_bytes().startswith(PNG)


def test_plotting_without_matplotlib_names_the_missing_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(PlottingUnavailableError, match=r"plotting requires matplotlib: .*\[plots\]'"):
        draw_curves(curves_of([a_record()]), tmp_path / "curves.png", title="tiny")


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
