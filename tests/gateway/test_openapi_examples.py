"""Examples in the OpenAPI document: they match their schemas and the actual responses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema

from companyos_gateway.api import openapi_examples
from companyos_gateway.scenarios import catalogue
from companyos_gateway.tasks import TaskSet
from tests.gateway.conftest import NotesGateway

JSON = "application/json"
PROBLEM = "application/problem+json"
WITHOUT_EXAMPLE = {"GET /v1/episodes/{episode_id}/databases/{service}"}
"""Routes that return a file."""


async def _document(gateway: NotesGateway) -> dict[str, Any]:
    document: dict[str, Any] = (await gateway.http.get("/openapi.json")).json()
    return document


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield f"{method.upper()} {path}", operation


def _bodies(operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the content of the request body and of every successful response, by media type."""
    if "requestBody" in operation:
        yield operation["requestBody"]["content"]
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            yield answer.get("content", {})


def _shown(content: dict[str, Any]) -> list[Any]:
    one = [content["example"]] if "example" in content else []
    return one + [example["value"] for example in content.get("examples", {}).values()]


async def test_every_operation_has_request_and_response_examples(gateway: NotesGateway) -> None:
    document = await _document(gateway)
    bare = {
        name
        for name, operation in _operations(document)
        for bodies in _bodies(operation)
        for content in bodies.values()
        if not _shown(content)
    }
    assert bare == WITHOUT_EXAMPLE
    parameters = [one for _, operation in _operations(document) for one in operation.get("parameters", ())]
    assert not [one["name"] for one in parameters if one["in"] == "path" and "example" not in one]


async def test_every_example_matches_its_schema(gateway: NotesGateway) -> None:
    document = await _document(gateway)
    checked = 0
    for name, operation in _operations(document):
        for bodies in _bodies(operation):
            content = bodies.get(JSON, {})
            schema = {**content.get("schema", {}), "components": document["components"]}
            for example in _shown(content):
                errors = list(jsonschema.Draft202012Validator(schema).iter_errors(example))
                assert not errors, f"{name}: {errors[0]}"
                checked += 1
    assert checked > 40


def _values(part: Any, name: str) -> Iterator[Any]:
    """Yield the values of every member with this name."""
    for member, value in part.items() if isinstance(part, dict) else enumerate(part):
        if member == name:
            yield value
        if isinstance(value, dict | list):
            yield from _values(value, name)


def test_the_examples_show_the_present_tasks() -> None:
    examples = json.loads(Path(openapi_examples.__file__).with_suffix(".json").read_text())
    (create,) = (one for one in examples["operations"] if "POST /v1/episodes" in one["at"])
    instance = catalogue()[create["body"]["scenario"]].plan(create["body"]["seed"], create["body"]["chaos"])
    tasks, remedy = TaskSet(catalogue()), "edit openapi_examples.json"
    assert {*_values(examples, "brief")} == {instance.brief, tasks.task("train", 0).brief}, remedy
    assert {*_values(examples, "acting_as")} == {instance.acting_as}, remedy
    assert {*_values(examples, "version")} == {tasks.version, "0.1.0"}, remedy
    assert {*_values(examples, "num_tasks")} == {split.num_tasks for split in tasks.splits()}, remedy


async def test_every_error_response_has_examples_by_code(gateway: NotesGateway) -> None:
    document = await _document(gateway)
    examples = document["components"]["examples"]
    assert all(example["value"]["code"] == code for code, example in examples.items())
    for name, operation in _operations(document):
        for status, answer in operation["responses"].items():
            if PROBLEM in answer.get("content", {}):
                named = {one["$ref"].rpartition("/")[2] for one in answer["content"][PROBLEM]["examples"].values()}
                assert named, f"{name}: {status}"
                assert {examples[code]["value"]["status"] for code in named} == {int(status)}


async def test_an_error_example_matches_the_actual_response(gateway: NotesGateway) -> None:
    shown = (await _document(gateway))["components"]["examples"]["unknown-episode"]["value"]
    body = (await gateway.http.get("/v1/episodes/nobodys/state")).json()
    assert {name: body[name] for name in shown} == shown


async def test_every_operation_has_a_short_summary(gateway: NotesGateway) -> None:
    summaries = {name: operation["summary"] for name, operation in _operations(await _document(gateway))}
    assert all(8 <= len(text) <= 90 and not text.endswith(".") for text in summaries.values()), summaries
    assert all(" " in text and not text.istitle() for text in summaries.values()), summaries
