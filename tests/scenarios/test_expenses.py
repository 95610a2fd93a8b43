"""Expense reports: a receipt may take days, and who decides then is not who decides today."""

from __future__ import annotations

import pytest

from companyos_gateway.scenarios.solutions import solutions_of
from tests.scenarios.stage import PlayAll, Wanted

NAME = "expense_report"


@pytest.mark.parametrize(("seed", "level"), [(179, 2), (131, 3), (178, 3), (24, 4), (88, 4)])
def test_the_fair_oracle_asks_whoever_is_there_when_the_receipt_has_come(
    seed: int, level: int, play_all: PlayAll
) -> None:
    (kept,) = play_all([Wanted(scenario=NAME, player=solutions_of(NAME).fair, seed=seed, chaos=level)])
    assert kept.played.success, kept.played.trouble
