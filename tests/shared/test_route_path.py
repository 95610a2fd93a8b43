"""The path of a request below the root path."""

from __future__ import annotations

import pytest

from companyos_shared.web.route_path import route_path


@pytest.mark.parametrize(
    ("root_path", "path", "expected"),
    [
        ("", "/step", "/step"),
        ("/company", "/company/step", "/step"),
        ("/company/", "/company/step", "/step"),
        ("/company", "/company", ""),
        ("/company", "/companyos/step", "/companyos/step"),
        ("/company", "/step", "/step"),
    ],
)
def test_the_root_path_is_removed(root_path: str, path: str, expected: str) -> None:
    assert route_path({"root_path": root_path, "path": path}) == expected


def test_a_scope_without_a_root_path_keeps_its_path() -> None:
    assert route_path({"path": "/step"}) == "/step"
