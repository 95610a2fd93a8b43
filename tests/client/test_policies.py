"""Policies: found by entry points; the random ones draw arguments that match the schemas, and can be repeated."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import fastjsonschema
import pytest

from companyos.contract import ToolSpec
from companyos.policies import StepView, UnknownPolicyError, load_policy, policy_names
from companyos.policies.arguments import SamplingContext, ids_in, sample_arguments
from companyos.policies.patterns import UnsupportedPatternError, sample_match
from companyos_shared.streams import Stream
from tests.client.builders import NOW, a_step, a_task

AROUND = SamplingContext(["OPS-1042", "VEN-207"], NOW)

SCHEMAS: dict[str, dict[str, Any]] = {
    "an id and a choice": {
        "type": "object",
        "properties": {"key": {"type": "string", "maxLength": 32}, "to": {"enum": ["open", "closed"]}},
        "required": ["key", "to"],
        "additionalProperties": False,
    },
    "bounds": {
        "type": "object",
        "properties": {
            "minutes": {"type": "integer", "minimum": 1, "maximum": 10080},
            "share": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            "text": {"type": "string", "minLength": 10, "maxLength": 12},
            "sure": {"type": "boolean"},
        },
        "required": ["minutes", "text", "sure"],
    },
    "one of two": {
        "type": "object",
        "properties": {"minutes": {"type": "integer", "minimum": 1}, "until": {"enum": ["next_working_morning"]}},
        "minProperties": 1,
        "maxProperties": 1,
    },
    "nested": {
        "type": "object",
        "properties": {
            "fields": {
                "type": "object",
                "properties": {"amount_cents": {"type": "integer"}, "starts_on": {"type": "string", "format": "date"}},
                "required": ["amount_cents"],
            },
            "tags": {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1, "maxItems": 4},
            "due_at": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
            "kind": {"$ref": "#/$defs/Kind"},
        },
        "required": ["fields", "tags", "due_at", "kind"],
        "$defs": {"Kind": {"const": "invoice"}},
    },
    "patterns": {
        "type": "object",
        "properties": {
            "iban": {"type": "string", "pattern": "^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$"},
            "email": {"type": "string", "pattern": r"^[^@\s]+@[^@\s]+$"},
        },
        "required": ["iban", "email"],
    },
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS.keys())
def test_drawn_arguments_fit_their_schema(schema: dict[str, Any]) -> None:
    check = fastjsonschema.compile(schema)
    for n in range(200):
        check(sample_arguments(schema, Stream("drawn", n), AROUND))


def test_an_optional_argument_is_sometimes_given_and_sometimes_omitted() -> None:
    schema = {"properties": {"note": {"type": "string"}}}
    given = sum("note" in sample_arguments(schema, Stream("optional", n), AROUND) for n in range(400))
    assert 60 < given < 140


def test_an_argument_that_accepts_an_id_often_gets_one_from_the_brief() -> None:
    schema = {"properties": {"key": {"type": "string"}}, "required": ["key"]}
    drawn = [sample_arguments(schema, Stream("ids", n), AROUND)["key"] for n in range(200)]
    assert 60 < sum(key in AROUND.ids for key in drawn) < 140


def test_a_text_that_accepts_no_id_never_gets_one() -> None:
    schema = {"properties": {"body": {"type": "string"}}, "required": ["body"]}
    drawn = [sample_arguments(schema, Stream("texts", n), AROUND)["body"] for n in range(200)]
    assert not set(drawn) & set(AROUND.ids)


def test_each_id_of_a_brief_is_extracted_once_in_order() -> None:
    brief = "Take OPS-1042 for VEN-207 (see POL-007-v3, not a well-known one); then close OPS-1042 by 2026-03-09."
    assert ids_in(brief) == ["OPS-1042", "VEN-207", "POL-007-v3"]


@pytest.mark.parametrize(
    "pattern",
    [
        "^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$",
        r"^[^@\s]+@[^@\s]+$",
        "^[A-Z][A-Z0-9]*-[1-9][0-9]*$",
        r"^(?:EUR|USD)\d{1,3}(\.\d{2})?$",
        "a|bc|d+",
        r"^v\.[a-c-]{3,}$",
    ],
)
def test_a_drawn_string_matches_its_pattern(pattern: str) -> None:
    for n in range(100):
        assert re.search(pattern, sample_match(pattern, Stream("match", n)))


@pytest.mark.parametrize("pattern", ["(?=a)b", r"\bword", "[", "(a", "a)", "*", r"\p{L}", "[^a-zA-Z0-9]"])
def test_an_unsupported_pattern_is_rejected(pattern: str) -> None:
    with pytest.raises(UnsupportedPatternError):
        sample_match(pattern, Stream("match"))


async def play_random(seed: int, steps: int) -> list[tuple[str, dict[str, Any]]]:
    tools = tuple(ToolSpec(name=f"tool_{n}", description="", input_schema=SCHEMAS["bounds"]) for n in range(5))
    made: list[tuple[str, dict[str, Any]]] = []

    async def call(tool: str, arguments: dict[str, Any], /) -> StepView:
        made.append((tool, arguments))
        done = len(made) == steps
        return StepView(result=None, error=None, reward=-0.1, done=done, now=NOW, steps_left=steps - len(made))

    task = a_task(*tools, brief="Onboard VEN-207.")
    task = replace(task, steps_left=steps, stream=Stream("policy", "random", seed))
    await load_policy("random").play(task, call)
    return made


async def test_random_plays_until_the_episode_is_done() -> None:
    assert len(await play_random(seed=1, steps=40)) == 40


async def test_random_plays_the_same_episode_for_the_same_seed_only() -> None:
    assert await play_random(seed=1, steps=30) == await play_random(seed=1, steps=30)
    assert await play_random(seed=1, steps=30) != await play_random(seed=2, steps=30)


LIST = ToolSpec(name="desk_list_vendors", description="", input_schema={"type": "object", "properties": {}})
RENAME = ToolSpec(
    name="desk_rename_vendor",
    description="",
    input_schema={
        "type": "object",
        "properties": {"vendor_id": {"type": "string", "maxLength": 8}},
        "required": ["vendor_id"],
    },
)
ANSWER = {
    "vendor": {"id": "VEN-1"},
    "items": [{"vendor_id": "VEN-2", "title": "A vendor with much too long a name" * 4}],
}


async def _played(steps: int) -> list[tuple[str, dict[str, Any]]]:
    made: list[tuple[str, dict[str, Any]]] = []

    async def call(tool: str, arguments: dict[str, Any], /) -> StepView:
        made.append((tool, arguments))
        return a_step(result=ANSWER if tool == LIST.name else None, done=len(made) == steps)

    await load_policy("grounded").play(a_task(LIST, RENAME), call)
    return made


async def test_a_seen_value_is_usually_used_for_the_argument_of_that_name() -> None:
    made = await _played(80)
    named = [arguments["vendor_id"] for tool, arguments in made[10:] if tool == RENAME.name]
    assert sum(one in ("VEN-1", "VEN-2") for one in named) > 0.7 * len(named) > 5


async def test_an_episode_is_reproducible() -> None:
    assert await _played(30) == await _played(30)


def test_a_seen_value_is_used_only_if_it_matches_the_schema() -> None:
    around = SamplingContext([], NOW, {"vendor_id": ["VEN-123456789", 7, "VEN-3"]})
    drawn = {sample_arguments(RENAME.input_schema, Stream("a", n), around)["vendor_id"] for n in range(40)}
    assert "VEN-3" in drawn
    assert all(len(one) <= 8 for one in drawn)


def test_random_and_noop_are_installed() -> None:
    assert {"noop", "random"} <= set(policy_names())


def test_a_policy_has_the_name_of_its_entry_point() -> None:
    for name in policy_names():
        assert load_policy(name).name == name


def test_each_load_returns_a_new_policy() -> None:
    assert load_policy("random") is not load_policy("random")


def test_an_unknown_policy_is_rejected_with_the_installed_ones() -> None:
    with pytest.raises(UnknownPolicyError, match=r"'clever'.*noop.*random"):
        load_policy("clever")


def test_a_problem_body_is_distinguished_from_a_payload_with_a_status() -> None:
    problem = {"title": "The ticket is locked", "status": 409, "code": "ticket-locked", "type": "about:blank"}
    assert a_step(result=problem).problem == "ticket-locked"
    assert a_step(result=problem).is_refused
    assert a_step(result={"key": "OPS-1", "status": "open", "title": "Locked"}).problem is None
    assert not a_step(result=None).is_refused


def test_an_environment_error_is_a_rejection_without_a_problem() -> None:
    step: StepView = a_step(error="tool_not_found")
    assert step.is_refused
    assert step.problem is None
