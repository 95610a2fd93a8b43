"""Texts of policies: values are inserted as parts of sentences."""

from __future__ import annotations

import pytest

from companyos_gateway.world.policies import PolicyText


@pytest.mark.parametrize(
    ("body", "value", "text"),
    [
        ("{named}", "outlet", "outlet"),
        ("{named}", "admin, write", "admin and write"),
        ("{named:or}", "admin, read, write", "admin, read or write"),
        ("{named:code}", "fine, gift, minibar", "`fine`, `gift` and `minibar`"),
        ("{named:code}", "demo_unit", "`demo_unit`"),
    ],
)
def test_a_list_is_joined_as_in_a_sentence(body: str, value: str, text: str) -> None:
    assert PolicyText(body, {"named": value}).filled() == text
