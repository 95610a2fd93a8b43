"""The OpenAPI document: what the routes say of themselves, and every refusal that is said on the way to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from companyos.contract import ResetOptions
from companyos_gateway.episode import errors
from companyos_shared.wire.problem import PROBLEM_MEDIA_TYPE, ProblemBody

_NOT_OVER_PLAIN_HTTP = (errors.NotReset, errors.InternalError)
"""One is told on a socket before its first reset; the other is a bug."""

_KINDS = [kind for kind in errors.GatewayProblem.__subclasses__() if kind not in _NOT_OVER_PLAIN_HTTP]


def _documented() -> dict[int | str, dict[str, Any]]:
    found: dict[int | str, dict[str, Any]] = {}
    for kind in _KINDS:
        entry = found.setdefault(
            kind.status,
            {"description": "", "content": {PROBLEM_MEDIA_TYPE: {"schema": ProblemBody.model_json_schema()}}},
        )
        separator = "; " if entry["description"] else ""
        entry["description"] += f"{separator}`{kind.code}`: {kind.title}"
    return found


DOCUMENTED_PROBLEMS = _documented()

_REFERENCE = "#/components/schemas/{model}"
_ON_THE_WAY = {
    "400": "`malformed-json`: The body is no JSON; `unknown-host`: The gateway does not answer to this name",
    "401": "`token-required`: A token is required; `unknown-token`: The token fits nothing here",
    "403": "`agent-plane`: An episode's token does not open this; `foreign-origin`: The page is of another site",
    "422": "`invalid-request`: The request does not fit",
}
_WITH_A_BODY = {
    "408": "`body-too-slow`: The body took too long",
    "413": "`body-too-large`: The body is too large",
}
_OF_THE_FRAMEWORK = {
    "400": f"{_ON_THE_WAY['400']}; `{errors.UnknownTask.code}`: {errors.UnknownTask.title}",
    "404": "`not-found`: Nothing has that name",
}


def documented(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """Return the app's `openapi`: the routes' own document, and what the guard and the framework's routes refuse."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            schemas = found.setdefault("components", {}).setdefault("schemas", {})
            schemas |= ResetOptions.model_json_schema(ref_template=_REFERENCE)["$defs"]
            schemas["ProblemBody"] = ProblemBody.model_json_schema()
            for path, operations in found["paths"].items():
                for operation in operations.values():
                    _add_refusals(operation, is_framework=path.startswith("/{env_name}/"))
            app.openapi_schema = found
        return app.openapi_schema

    return openapi


def _add_refusals(operation: dict[str, Any], *, is_framework: bool) -> None:
    said = operation["responses"]
    if is_framework:
        said.pop("422", None)  # the framework promises a body of another shape
    refusals = _ON_THE_WAY | (_WITH_A_BODY if "requestBody" in operation else {})
    for status, text in (refusals | (_OF_THE_FRAMEWORK if is_framework else {})).items():
        content = {PROBLEM_MEDIA_TYPE: {"schema": {"$ref": _REFERENCE.format(model="ProblemBody")}}}
        said.setdefault(status, {"description": text, "content": content})
