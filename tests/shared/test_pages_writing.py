"""How pages write what they show."""

from __future__ import annotations

import pytest

from companyos_shared.pages.writing import duration, status_colour


@pytest.mark.parametrize(
    ("minutes", "told"),
    [
        (0, "0 min"),
        (59.9, "59 min"),
        (60, "1 h"),
        (90, "1 h 30 min"),
        (2880, "2 d"),
        (2945, "2 d 1 h"),
        (1441, "1 d 1 min"),
    ],
)
def test_a_length_of_time_is_told_in_its_two_largest_units(minutes: float, told: str) -> None:
    assert duration(minutes) == told


def test_a_state_that_no_colour_is_known_for_is_grey() -> None:
    assert (status_colour("stale"), status_colour("of its own")) == ("yellow", "secondary")
