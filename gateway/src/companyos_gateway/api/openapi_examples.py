"""Examples of requests and responses in the OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from companyos_gateway.engine.errors import GatewayError
from companyos_shared.wire.problem import ProblemBody

_FILE = Path(__file__).with_name("openapi_examples.json")
_JSON, _TEXT, _HTML, _PNG = "application/json", "text/plain", "text/html", "image/png"
_MEDIA_TYPES = {"answer": _JSON, "text": _TEXT, "html": _HTML, "png": _PNG}


def add_examples(document: dict[str, Any]) -> None:
    """Add the examples of bodies, responses and parameters to a document."""
    examples = json.loads(_FILE.read_text(encoding="utf-8"))
    by_operation = {operation_key: example for example in examples["operations"] for operation_key in example["at"]}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            _add_parameters(operation, examples["parameters"])
            _add_operation(operation, by_operation.get(f"{method.upper()} {path}", {}))


def problem_examples(errors: Iterable[type[GatewayError]]) -> dict[str, dict[str, Any]]:
    """Return an example of each error by code."""
    return {error.code: problem_example(error.status, error.code, error.title) for error in errors}


def problem_example(status: int, code: str, title: str) -> dict[str, Any]:
    """Return the example of an error response."""
    body = ProblemBody(title=title, status=status, code=code)
    return {"summary": title, "value": body.model_dump(mode="json", exclude_none=True)}


def _add_parameters(operation: dict[str, Any], examples: Mapping[str, Any]) -> None:
    for parameter in operation.get("parameters", ()):
        if parameter["name"] in examples:
            parameter["example"] = examples[parameter["name"]]


def _add_operation(operation: dict[str, Any], example: Mapping[str, Any]) -> None:
    if "body" in example and "requestBody" in operation:
        operation["requestBody"]["content"][_JSON]["example"] = example["body"]
    responses = [response for status, response in operation["responses"].items() if status.startswith("2")]
    content: dict[str, Any] = responses[0].get("content", {}) if responses else {}
    for key, media_type in _MEDIA_TYPES.items():
        if key in example and media_type in content:
            content[media_type]["example"] = example[key]
    if "answers" in example:
        content[_JSON]["examples"] = {name: {"value": value} for name, value in example["answers"].items()}
