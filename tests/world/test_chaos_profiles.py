"""Chaos profiles: their data, validated with file and place."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from companyos_gateway.chaos import ChaosError, Group, Kind, Mark, profile_for, read_profiles
from companyos_gateway.chaos.profiles import PROFILE_FOLDER

BUDGET = "[budget]\ndata = 1\npeople = 1\nhostile = 1\ndrift = 1\nevents = 1\noutage_minutes = 20\ntimeouts = 1\n"


def _profile(folder: Path, text: str, *, name: str = "windy") -> Path:
    file = folder / f"{name}.toml"
    file.write_text(f'name = "{name}"\nlevel = 7\n{BUDGET}{text}')
    return file


def test_the_levels_are_calm_light_moderate_heavy_and_storm() -> None:
    assert [profile_for(level).name for level in range(5)] == ["calm", "light", "moderate", "heavy", "storm"]


def test_every_profile_marks_and_rates_every_kind() -> None:
    for profile in read_profiles(PROFILE_FOLDER).values():
        assert set(profile.rates) == set(Kind), profile.name


def test_calm_has_no_chaos_and_rates_do_not_decrease_with_the_level() -> None:
    levels = [profile_for(level) for level in range(5)]
    assert all(levels[0].rate(kind) == 0 for kind in Kind)
    for lower, higher in itertools.pairwise(levels):
        assert all(lower.rate(kind) <= higher.rate(kind) for kind in Kind)
        assert all(lower.budget.kinds(group) <= higher.budget.kinds(group) for group in Group)


def test_a_kind_has_the_same_mark_at_every_level() -> None:
    for kind in Kind:
        assert len({profile_for(level).mark(kind) for level in range(5)}) == 1


def test_both_marks_are_used() -> None:
    assert {profile_for(1).mark(kind) for kind in Kind} == set(Mark)


def test_a_level_without_a_profile_is_rejected() -> None:
    with pytest.raises(ChaosError, match="got 9"):
        profile_for(9)


def test_a_profile_is_one_file(tmp_path: Path) -> None:
    _profile(tmp_path, '[data]\nstale_metric = { rate = 0.5, mark = "decisive" }\n')
    found = read_profiles(tmp_path)[7]
    assert (found.name, found.rate(Kind.STALE_METRIC), found.rate(Kind.FORBIDDEN)) == ("windy", 0.5, 0.0)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('[data]\nstale_matric = { rate = 0.5, mark = "decisive" }', r"windy\.toml: data\.stale_matric: unknown kind"),
        ('[people]\nstale_metric = { rate = 0.5, mark = "decisive" }', r"windy\.toml: people\.stale_metric: unknown"),
        (
            '[hostile]\nrude_words = { rate = 0.5, mark = "decisive" }',
            r"windy\.toml: hostile\.rude_words: unknown kind",
        ),
        ('[events]\nplanted_instruction = { rate = 0.5, mark = "decisive" }', r"events\.planted_instruction: unknown"),
        (
            '[drift]\nrenamed_fields = { rate = -0.1, mark = "decisive" }',
            r"drift\.renamed_fields\.rate: a rate must be 0 to 1",
        ),
        ('[weather]\nrain = { rate = 0.5, mark = "friction" }', r"windy\.toml: unknown name 'weather'"),
        (
            '[data]\nstale_metric = { rate = 1.5, mark = "decisive" }',
            r"data\.stale_metric\.rate: a rate must be 0 to 1",
        ),
        (
            '[data]\nstale_metric = { rate = true, mark = "decisive" }',
            r"data\.stale_metric\.rate: a rate must be 0 to 1",
        ),
        ('[data]\nstale_metric = { mark = "decisive" }', r"data\.stale_metric\.rate"),
        ("[data]\nstale_metric = 0.5", r"data\.stale_metric: must be a table with rate and mark"),
        ('[data]\nstale_metric = { rate = 0.5, mark = "fatal" }', r"stale_metric\.mark must be one of .*; got 'fatal'"),
        ('[data]\nstale_metric = { rate = 0.5, mark = "decisive", often = 1 }', r"stale_metric: unknown name 'often'"),
        (
            '[transport]\nforbidden = { rate = 0.5, mark = "friction", services = { payroll = 1.0 } }',
            r"forbidden\.services: unknown name 'payroll'",
        ),
        (
            '[data]\nstale_metric = { rate = 0.5, mark = "decisive", services = { datahub = 1.0 } }',
            r"services: only transport",
        ),
        ("[data\n", r"windy\.toml: "),
    ],
)
def test_an_invalid_profile_is_rejected_with_file_and_location(tmp_path: Path, text: str, place: str) -> None:
    _profile(tmp_path, text)
    with pytest.raises(ChaosError, match=place):
        read_profiles(tmp_path)


def test_two_profiles_of_one_level_are_rejected(tmp_path: Path) -> None:
    _profile(tmp_path, "")
    _profile(tmp_path, "", name="breezy")
    with pytest.raises(ChaosError, match="level: 7 is already the level of"):
        read_profiles(tmp_path)


@pytest.mark.parametrize("name", [group.value for group in Group if group is not Group.TRANSPORT])
def test_a_group_without_a_budget_is_rejected(tmp_path: Path, name: str) -> None:
    file = _profile(tmp_path, "")
    file.write_text(file.read_text().replace(f"{name} = 1\n", ""))
    with pytest.raises(ChaosError, match=rf"windy\.toml: budget\.{name} must be an integer"):
        read_profiles(tmp_path)


@pytest.mark.parametrize("minutes", ["14", "121", "-1", '"many"'])
def test_an_outage_length_out_of_range_is_rejected(tmp_path: Path, minutes: str) -> None:
    file = _profile(tmp_path, "")
    file.write_text(file.read_text().replace("outage_minutes = 20", f"outage_minutes = {minutes}"))
    with pytest.raises(ChaosError, match=r"windy\.toml: budget\.outage_minutes"):
        read_profiles(tmp_path)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("level = 7\n", r"windy\.toml: name"),
        ('name = "windy"\nlevel = "7"\n', r"windy\.toml: level"),
        ('name = "windy"\nlevel = 9\n', r"windy\.toml: level must be 0 to 8; got 9"),
    ],
)
def test_a_profile_without_name_or_level_is_rejected(tmp_path: Path, text: str, place: str) -> None:
    (tmp_path / "windy.toml").write_text(text)
    with pytest.raises(ChaosError, match=place):
        read_profiles(tmp_path)
