"""The accessibility check finds problems in both color schemes and pages that are too wide."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.accessibility import faults_of
from tests.browser.conftest import WIDE

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

PAGE = """
<html lang="en"><title>Orders</title>
<style>@media (prefers-color-scheme: dark) { body { background: #000; color: #222; } }</style>
<main><h1>Orders</h1><input><p style="width: 2000px">Nothing was ordered.</p></main></html>
"""


def test_each_kind_of_problem_is_found(page: Any) -> None:
    page.set_content(PAGE)
    assert faults_of(page, WIDE, "orders") == [
        "orders, light: label at ['input']",
        "orders, dark: color-contrast at ['h1']",
        f"orders: wider than {WIDE}",
    ]
