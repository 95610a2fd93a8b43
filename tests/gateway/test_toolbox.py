"""Conversion of a service's OpenAPI document to tools, and of tool calls to HTTP requests."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import httpx
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from yarl import URL

from companyos_gateway.engine.openapi_operations import Operation
from companyos_gateway.engine.toolbox import InvalidArgumentsError, Tool, build_toolbox

FINISH = {"type": "object", "properties": {}, "additionalProperties": False}
COMPONENTS = {
    "Kind": {"type": "string", "enum": ["big", "small"], "title": "Kind", "description": "How large."},
    "NewThing": {
        "type": "object",
        "title": "NewThing",
        "properties": {
            "name": {"type": "string", "title": "Name", "examples": ["a"]},
            "kind": {"$ref": "#/components/schemas/Kind", "description": "Its size."},
            "weight": {
                "anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}],
                "title": "Weight",
                "default": None,
            },
            "tags": {"type": "array", "items": {"$ref": "#/components/schemas/Kind"}, "default": []},
        },
        "required": ["name"],
    },
}


def document() -> dict[str, Any]:
    """Return a small OpenAPI document with every supported kind of parameter."""
    string = {"type": "string", "title": "S"}
    key = {"name": "key", "in": "path", "required": True, "schema": string}
    return {
        "info": {"title": "Shop"},
        "paths": {
            "/things/{key}": {
                "get": {
                    "operationId": "get_thing",
                    "description": "Get one\nthing.\n\nMore for people.",
                    "parameters": [
                        key,
                        {"name": "word", "in": "query", "schema": {"anyOf": [string, {"type": "null"}]}},
                        {"name": "tag", "in": "query", "schema": {"type": "array", "items": string}},
                        {"name": "deep", "in": "query", "schema": {"type": "boolean", "default": False}},
                    ],
                },
                "patch": {
                    "operationId": "change_thing",
                    "summary": "Change Thing",
                    "x-minutes": 7,
                    "parameters": [key, {"name": "If-Match", "in": "header", "schema": {"type": "integer"}}],
                    "requestBody": {
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/NewThing"}}}
                    },
                },
            },
            "/unnamed": {"get": {"summary": "has no operation id"}},
        },
        "components": {"schemas": COMPONENTS},
    }


TOOLBOX = build_toolbox({"shop": document()}, FINISH)


def tool(name: str) -> Tool:
    found = TOOLBOX.tool(name)
    assert found is not None
    return found


def operation(name: str) -> Operation:
    found = tool(name).operation
    assert found is not None
    return found


def test_every_named_operation_is_a_tool_in_addition_to_the_two_of_the_gateway() -> None:
    assert [tool.name for tool in TOOLBOX] == ["shop_get_thing", "shop_change_thing", "wait", "finish"]


def test_a_tool_description_is_the_first_paragraph() -> None:
    assert tool("shop_get_thing").description == "Get one thing."
    assert tool("shop_change_thing").description == "Change Thing"


def test_schemas_are_flat_inlined_and_minimal() -> None:
    assert tool("shop_change_thing").input_schema == {
        "type": "object",
        "additionalProperties": False,
        "required": ["key", "name"],
        "properties": {
            "key": {"type": "string"},
            "if_match": {"type": "integer"},
            "name": {"type": "string"},
            "kind": {"type": "string", "enum": ["big", "small"], "description": "Its size."},
            "weight": {"type": "integer", "minimum": 0},
            "tags": {"type": "array", "items": {"type": "string", "enum": ["big", "small"]}},
        },
    }


def test_minutes_follow_the_kind_unless_the_operation_states_them() -> None:
    minutes = {tool.name: tool.operation.minutes for tool in TOOLBOX if tool.operation}
    assert minutes == {"shop_get_thing": 1, "shop_change_thing": 7}


def test_arguments_are_placed_in_path_query_and_body() -> None:
    call = operation("shop_change_thing").build_call({"key": "a b/c?", "if_match": 3, "name": "x", "weight": None})
    assert (call.method, call.target, call.headers) == ("PATCH", "/things/a%20b%2Fc%3F", {"If-Match": "3"})
    assert orjson.loads(call.body) == {"name": "x", "weight": None}


def test_queries_repeat_lists_and_omit_null() -> None:
    call = operation("shop_get_thing").build_call({"key": "k", "word": None, "tag": ["a", "b&c"], "deep": True})
    assert call.target == "/things/k?tag=a&tag=b%26c&deep=true"
    assert call.body == b""


def test_the_entity_of_a_call_is_in_its_path() -> None:
    assert operation("shop_get_thing").entity({"key": "OPS-1", "word": "x"}) == "OPS-1"


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"key": None},
        {"key": 7},
        {"key": ""},
        {"key": ".."},
        {"key": "a/b"},
        {"key": "a\\b"},
        {"key": "a\nb"},
        {"key": "k", "other": 1},
        {"key": "k", "deep": "true"},
        {"key": "k", "deep": 1},
        {"key": "k", "tag": "a"},
    ],
    ids=str,
)
def test_invalid_arguments_are_named(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentsError, match=r"required|must|unknown"):
        tool("shop_get_thing").check(arguments)


@pytest.mark.parametrize("arguments", [{"key": "k"}, {"key": "k", "word": None, "deep": False, "tag": []}], ids=str)
def test_valid_arguments_are_accepted(arguments: dict[str, Any]) -> None:
    tool("shop_get_thing").check(arguments)


def test_the_description_of_wait_states_that_other_calls_take_time() -> None:
    assert tool("wait").description.endswith("usually 1 to 3 minutes, occasionally up to half an hour.")


@pytest.mark.parametrize(
    "arguments",
    [{}, {"minutes": 0}, {"minutes": 10_081}, {"minutes": 1.5}, {"minutes": 1, "until": "next_working_morning"}],
)
def test_wait_accepts_exactly_one_of_its_two_arguments(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentsError):
        tool("wait").check(arguments)


def test_two_arguments_with_the_same_name_are_rejected() -> None:
    clashing = document()
    clashing["paths"]["/things/{key}"]["patch"]["parameters"].append(
        {"name": "name", "in": "query", "schema": {"type": "string"}}
    )
    with pytest.raises(ValueError, match="two arguments named name"):
        build_toolbox({"shop": clashing}, FINISH)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(TEXT, TEXT)
def test_no_http_client_encodes_a_target_differently(key: str, word: str) -> None:
    try:
        tool("shop_get_thing").check({"key": key})
    except InvalidArgumentsError:
        key = "k"
    target = operation("shop_get_thing").build_call({"key": key, "word": word}).target
    by_httpx = httpx.URL(f"http://service{target}")
    assert by_httpx.raw_path.decode() == target
    assert URL(str(by_httpx)).raw_path_qs == target
    parts = urlsplit(target)
    assert unquote(parts.path) == f"/things/{key}"
    assert parse_qsl(parts.query, keep_blank_values=True) == [("word", word)]
