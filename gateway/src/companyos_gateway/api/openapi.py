"""The OpenAPI document: the routes with the error responses of the middleware and with examples."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from companyos.contract import ResetOptions
from companyos_gateway.api.openapi_examples import add_examples, problem_example, problem_examples
from companyos_gateway.engine import errors
from companyos_gateway.middleware.auth import AgentForbiddenError, TokenRequiredError, UnknownTokenError
from companyos_shared.web.trusted_hosts import FOREIGN_ORIGIN, UNKNOWN_HOST
from companyos_shared.wire.problem import PROBLEM_MEDIA_TYPE, ProblemBody

_NOT_OVER_HTTP = (errors.NotResetError, errors.InternalError)
"""The first only occurs on WebSockets before the first reset, the second is a bug."""

_ERROR_TYPES: list[type[errors.GatewayError]] = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and kind.__base__ is errors.GatewayError and kind not in _NOT_OVER_HTTP
]

_REFERENCE = "#/components/schemas/{model}"
_EXAMPLE = "#/components/examples/{code}"

_ErrorTable = Mapping[int, Mapping[str, str]]
"""Titles by status and code."""

_MIDDLEWARE_ERRORS: _ErrorTable = {
    400: {"malformed-json": "The body is not valid JSON", "unknown-host": UNKNOWN_HOST.title},
    401: {error.code: error.title for error in (TokenRequiredError, UnknownTokenError)},
    403: {
        AgentForbiddenError.code: AgentForbiddenError.title,
        "foreign-origin": FOREIGN_ORIGIN.title,
    },
    422: {"invalid-request": "Invalid request"},
    429: {errors.RateLimitedError.code: errors.RateLimitedError.title},
}
_BODY_ERRORS: _ErrorTable = {
    408: {"body-too-slow": "Timeout while reading the request body"},
    413: {"body-too-large": "Request body too large"},
}
_OPENENV_ERRORS: _ErrorTable = {
    400: {errors.UnknownTaskError.code: errors.UnknownTaskError.title},
    404: {"not-found": "Not found"},
}


_SENTENCE_END = re.compile(r"[.:;](?=\s|$)|, (?=as |or |which |and why )")
_SUMMARIES = {
    "/list_environments": "List the environments of this server",
    "/{env_name}/splits": "List the splits of the task set",
    "/{env_name}/tasks": "List the tasks of a split",
    "/{env_name}/num_tasks": "Count the tasks of a split",
    "/{env_name}/task": "Get a task with its brief",
    "/{env_name}/task_range": "List a range of the tasks of a split",
}
"""Summaries of OpenEnv operations that have none."""


def _error_response(codes: Mapping[str, str]) -> dict[str, Any]:
    """Return the OpenAPI response of an error status."""
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
    titles: dict[int, dict[str, str]] = {}
    for error in _ERROR_TYPES:
        if error is errors.RubricFailedError:
            continue
        titles.setdefault(error.status, {})[error.code] = error.title
    return titles


_RUNTIME_ERRORS = _runtime_errors()
ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    status: _error_response(codes) for status, codes in _RUNTIME_ERRORS.items()
}
"""Error responses of the routes that use the gateway runtime."""

JUDGED_RESPONSES = ERROR_RESPONSES | {
    errors.RubricFailedError.status: _error_response({errors.RubricFailedError.code: errors.RubricFailedError.title})
}
"""Error responses of the routes that also need the verdict of the rubric."""


def build_openapi(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """Return a replacement for `FastAPI.openapi` that adds error responses, summaries and examples."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            components = document.setdefault("components", {})
            schemas = components.setdefault("schemas", {})
            schemas |= ResetOptions.model_json_schema(ref_template=_REFERENCE)["$defs"]
            schemas["ProblemBody"] = ProblemBody.model_json_schema()
            components["examples"] = _examples()
            for path, operations in document["paths"].items():
                for operation in operations.values():
                    operation["summary"] = _summary(path, operation)
                    _add_errors(operation, is_framework=path.startswith("/{env_name}/"))
            add_examples(document)
            app.openapi_schema = document
        return app.openapi_schema

    return openapi


def _summary(path: str, operation: Mapping[str, Any]) -> str:
    """Return the summary of an operation: the first sentence of its description, up to a colon."""
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
        responses.pop("422", None)  # FastAPI's default schema does not match the problem body
    tables = [_MIDDLEWARE_ERRORS, *([_BODY_ERRORS] if "requestBody" in operation else [])]
    tables += [_OPENENV_ERRORS] if is_framework else []
    for status in sorted({status for table in tables for status in table}):
        has_runtime_errors = PROBLEM_MEDIA_TYPE in responses.get(str(status), {}).get("content", {})
        runtime = _RUNTIME_ERRORS.get(status, {}) if has_runtime_errors else {}
        codes = {code: title for table in tables for code, title in table.get(status, {}).items()}
        responses[str(status)] = _error_response({**runtime, **codes})
