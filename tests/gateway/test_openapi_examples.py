"""Examples in the OpenAPI document: they match their schemas and the actual responses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema

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


async def test_the_examples_show_the_present_tasks(gateway: NotesGateway) -> None:
    operations = dict(_operations(await _document(gateway)))
    create = operations["POST /v1/episodes"]
    (body,), (answer,) = (_shown(content[JSON]) for content in _bodies(create))
    instance = catalogue()[body["scenario"]].plan(body["seed"], body["chaos"])
    observation, file = answer["observation"], "edit openapi_examples.json"
    assert (observation["brief"], observation["acting_as"]) == (instance.brief, instance.acting_as), file
    (splits,) = (_shown(content[JSON])[0] for content in _bodies(operations["GET /{env_name}/splits"]))
    expected = {split.name: (split.num_tasks, split.version) for split in TaskSet(catalogue()).splits()}
    assert {split["name"]: (split["num_tasks"], split["version"]) for split in splits} == expected, file


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
