"""Examples for the OpenAPI document: a request body and its response for each operation."""

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
    """Put an example beside every body, answer and parameter that has one."""
    known = json.loads(_FILE.read_text(encoding="utf-8"))
    by_operation = {operation_key: example for example in known["operations"] for operation_key in example["at"]}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            _add_parameters(operation, known["parameters"])
            _add_operation(operation, by_operation.get(f"{method.upper()} {path}", {}))


def problem_examples(kinds: Iterable[type[GatewayError]]) -> dict[str, dict[str, Any]]:
    """Return by code what each refusal looks like."""
    return {kind.code: problem_example(kind.status, kind.code, kind.title) for kind in kinds}


def problem_example(status: int, code: str, title: str) -> dict[str, Any]:
    """Return what a refusal looks like."""
    body = ProblemBody(type="about:blank", title=title, status=status, code=code, detail=None, errors=None)
    return {"summary": title, "value": body.model_dump(mode="json", exclude_none=True)}


def _add_parameters(operation: dict[str, Any], known: Mapping[str, Any]) -> None:
    for parameter in operation.get("parameters", ()):
        if parameter["name"] in known:
            parameter["example"] = known[parameter["name"]]


def _add_operation(operation: dict[str, Any], example: Mapping[str, Any]) -> None:
    if "body" in example and "requestBody" in operation:
        operation["requestBody"]["content"][_JSON]["example"] = example["body"]
    responses = [response for status, response in operation["responses"].items() if status.startswith("2")]
    content: dict[str, Any] = responses[0].get("content", {}) if responses else {}
    for word, media_type in _MEDIA_TYPES.items():
        if word in example and media_type in content:
            content[media_type]["example"] = example[word]
    if "answers" in example:
        content[_JSON]["examples"] = {name: {"value": value} for name, value in example["answers"].items()}
