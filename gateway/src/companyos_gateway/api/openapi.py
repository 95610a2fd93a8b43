"""The OpenAPI document: what the routes say of themselves, and every refusal that is said on the way to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from companyos.contract import ResetOptions
from companyos_gateway.api.openapi_examples import add_examples, problem_example, problem_examples
from companyos_gateway.engine import errors
from companyos_shared.wire.problem import PROBLEM_MEDIA_TYPE, ProblemBody

_NOT_OVER_HTTP = (errors.NotResetError, errors.InternalError)
"""The first is sent on a socket before its first reset; the second is a bug."""

_ERROR_TYPES: list[type[errors.GatewayError]] = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and kind.__base__ is errors.GatewayError and kind not in _NOT_OVER_HTTP
]

_REFERENCE = "#/components/schemas/{model}"
_EXAMPLE = "#/components/examples/{code}"

_ErrorTable = Mapping[int, Mapping[str, str]]
"""By status and code, the title."""

_MIDDLEWARE_ERRORS: _ErrorTable = {
    400: {"malformed-json": "The body is not valid JSON", "unknown-host": "Unknown host name"},
    401: {"token-required": "A token is required", "unknown-token": "The token fits nothing here"},
    403: {
        "agent-plane": "An episode's token does not open this",
        "foreign-origin": "The request comes from the page of another site",
    },
    422: {"invalid-request": "The request does not fit"},
    429: {errors.RateLimitedError.code: errors.RateLimitedError.title},
}
_BODY_ERRORS: _ErrorTable = {
    408: {"body-too-slow": "The body took too long"},
    413: {"body-too-large": "The body is too large"},
}
_OPENENV_ERRORS: _ErrorTable = {
    400: {errors.UnknownTaskError.code: errors.UnknownTaskError.title},
    404: {"not-found": "Nothing has that name"},
}


_SENTENCE_END = re.compile(r"[.:;](?=\s|$)|, (?=as |or |which |and why )")
_SUMMARIES = {
    "/list_environments": "List the environments of this server",
    "/{env_name}/splits": "List the splits of the task set",
    "/{env_name}/tasks": "List the tasks of a split",
    "/{env_name}/num_tasks": "Count the tasks of a split",
    "/{env_name}/task": "Read one task with its brief",
    "/{env_name}/task_range": "List a range of the tasks of a split",
}
"""Of operations of the framework that say nothing of themselves."""


def _error_response(codes: Mapping[str, str]) -> dict[str, Any]:
    """Return one response of a status that refuses."""
    return {
        "description": "; ".join(f"`{code}`: {title}" for code, title in codes.items()),
        "content": {
            PROBLEM_MEDIA_TYPE: {
                "schema": {"$ref": _REFERENCE.format(model="ProblemBody")},
                "examples": {code: {"$ref": _EXAMPLE.format(code=code)} for code in codes},
            }
        },
    }


def _runtime_errors() -> _ErrorTable:
    found: dict[int, dict[str, str]] = {}
    for kind in _ERROR_TYPES:
        found.setdefault(kind.status, {})[kind.code] = kind.title
    return found


_RUNTIME_ERRORS = _runtime_errors()
ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: _error_response(codes) for status, codes in _RUNTIME_ERRORS.items()
}
"""Error responses of routes that use the runtime."""


def build_openapi(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """Return the app's `openapi`: the routes' own document, what is refused on the way to them, and examples."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            components = found.setdefault("components", {})
            schemas = components.setdefault("schemas", {})
            schemas |= ResetOptions.model_json_schema(ref_template=_REFERENCE)["$defs"]
            schemas["ProblemBody"] = ProblemBody.model_json_schema()
            components["examples"] = _examples()
            for path, operations in found["paths"].items():
                for operation in operations.values():
                    operation["summary"] = _summary(path, operation)
                    _add_errors(operation, is_framework=path.startswith("/{env_name}/"))
            add_examples(found)
            app.openapi_schema = found
        return app.openapi_schema

    return openapi


def _summary(path: str, operation: Mapping[str, Any]) -> str:
    """Return what an operation does in a few words: the first sentence of its description, up to a colon."""
    description = operation.get("description", "").partition("\n")[0]
    return _SUMMARIES.get(path) or _SENTENCE_END.split(description)[0] or str(operation["summary"])


def _examples() -> dict[str, Any]:
    return problem_examples(_ERROR_TYPES) | {
        code: problem_example(status, code, title)
        for tables in (_MIDDLEWARE_ERRORS, _BODY_ERRORS, _OPENENV_ERRORS)
        for status, codes in tables.items()
        for code, title in codes.items()
    }


def _add_errors(operation: dict[str, Any], *, is_framework: bool) -> None:
    responses = operation["responses"]
    if is_framework:
        responses.pop("422", None)  # the framework promises a body of another shape
    tables = [_MIDDLEWARE_ERRORS, *([_BODY_ERRORS] if "requestBody" in operation else [])]
    tables += [_OPENENV_ERRORS] if is_framework else []
    for status in sorted({status for one in tables for status in one}):
        has_runtime_errors = PROBLEM_MEDIA_TYPE in responses.get(str(status), {}).get("content", {})
        runtime = _RUNTIME_ERRORS.get(status, {}) if has_runtime_errors else {}
        codes = {code: title for one in tables for code, title in one.get(status, {}).items()}
        responses[str(status)] = _error_response({**runtime, **codes})
