"""Alignment of the steps of two episodes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from companyos.viewer.alignment import align, describe_difference
from companyos.viewer.document import Step


def _step(tool: str, *, result: Any = None, **arguments: Any) -> Step:
    return _step_with(tool, arguments, result)


def _step_with(tool: str, arguments: Any, result: Any = None) -> Step:
    now = datetime(2026, 3, 2, 9, tzinfo=UTC)
    return Step(number=1, tool=tool, arguments=arguments, result=result, kind="carried_out", reward=0, now=now)


def _tools(left: list[Step], right: list[Step]) -> list[tuple[str | None, str | None]]:
    return [(one.tool if one else None, other.tool if other else None) for one, other in align(left, right)]


def test_calls_after_an_additional_one_are_aligned() -> None:
    left = [_step("get", key="A-1"), _step("wait", minutes=5), _step("close", key="A-1")]
    right = [_step("get", key="A-1"), _step("close", key="A-1"), _step("finish")]
    assert _tools(left, right) == [("get", "get"), ("wait", None), ("close", "close"), (None, "finish")]


def test_calls_on_different_entities_are_not_aligned() -> None:
    assert _tools([_step("get", key="A-1")], [_step("get", key="A-2")]) == [("get", None), (None, "get")]


def test_calls_with_invalid_arguments_or_without_an_entity_are_aligned() -> None:
    [(left, right)] = align([_step("wait", minutes=5)], [_step("wait", minutes=6)])
    assert describe_difference(left, right) == "different arguments"
    assert _tools([_step_with("get", ["A-1"])], [_step("get")]) == [("get", "get")]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (None, _step("get"), "only in the second"),
        (_step("get"), None, "only in the first"),
        (_step("get", result={"a": 1}), _step("get", result={"a": 2}), "different response"),
        (_step("get", key="A-1"), _step("get", key="A-1"), ""),
    ],
)
def test_a_pair_has_one_kind_of_difference(left: Step | None, right: Step | None, expected: str) -> None:
    assert describe_difference(left, right) == expected
