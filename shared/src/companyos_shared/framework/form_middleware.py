"""HTML forms of a standalone service: a posted form calls a tool and shows or redirects to a page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from fastapi.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from companyos_shared.framework.buffered_responses import BufferedResponse, read_body, run_buffered, send_buffered
from companyos_shared.framework.errors import MalformedBodyError, ServiceError
from companyos_shared.framework.pages import FORMS_PREFIX, PAGES_PREFIX
from companyos_shared.pages import FormResult, MalformedFormError, Shell, SubmittedForm, parse_form
from companyos_shared.wire.problem import ProblemBody
from companyos_shared.wire.strict_json import MAX_BODY_BYTES

_WRITES = ("post", "put", "patch", "delete")
_SEE_OTHER = 303


class FormMiddleware:
    """ASGI middleware of a standalone service that converts posted forms to tool calls."""

    def __init__(self, app: ASGIApp, *, openapi: Callable[[], dict[str, Any]], title: str, name: str) -> None:
        self._app = app
        self._openapi = openapi
        self._title = title
        self._name = name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a posted form; pass other requests to the app."""
        if scope["type"] != "http" or scope["method"] != "POST" or not scope["path"].startswith(FORMS_PREFIX):
            await self._app(scope, receive, send)
            return
        try:
            form = _parse(await read_body(receive, MAX_BODY_BYTES))
            await send_buffered(send, await self._submit(scope, form), with_report=False)
        except ServiceError as problem:
            await problem.response()(scope, receive, send)

    async def _submit(self, scope: Scope, form: SubmittedForm) -> BufferedResponse:
        operation = scope["path"].removeprefix(FORMS_PREFIX)
        tool_response = await self._call_tool(scope, operation, form.arguments)
        if tool_response.status < 400:
            target = form.next_path(json.loads(tool_response.body) if tool_response.body else None, operation)
            response = RedirectResponse(f"{PAGES_PREFIX}/{target}", status_code=_SEE_OTHER)
            return BufferedResponse.of(response)
        problem = ProblemBody.model_validate_json(tool_response.body)
        result = FormResult(operation=operation, form=form.form, problem=problem, typed=form.typed)
        shell = Shell(app=self._name, title=self._title, prefix=PAGES_PREFIX, form_result=result)
        path, _, query = form.page.partition("#")[0].partition("?")
        page = await self._run(
            scope, "POST", f"{PAGES_PREFIX}/{path}", {}, shell.model_dump_json().encode(), query=query
        )
        page.status = tool_response.status if page.status < 400 else page.status
        return page

    async def _call_tool(self, scope: Scope, operation: str, arguments: Mapping[str, Any]) -> BufferedResponse:
        """Call the tool; the OpenAPI document defines where each argument is sent."""
        path, method, parameters, has_body = self._operation(operation)
        body, headers = dict(arguments), {}
        for parameter in parameters:
            name = parameter["name"].lower().replace("-", "_")
            if name not in body:
                continue
            value = str(body.pop(name))
            if parameter["in"] == "path":
                path = path.replace(f"{{{parameter['name']}}}", quote(value, safe=""))
            elif parameter["in"] == "header":
                headers[parameter["name"].lower()] = value
        if re.search(r"[{}]", path):
            raise MalformedBodyError(f"The form lacks a path parameter of {operation}.")
        return await self._run(scope, method, path, headers, json.dumps(body).encode() if has_body else b"")

    def _operation(self, operation: str) -> tuple[str, str, list[dict[str, Any]], bool]:
        for path, item in self._openapi()["paths"].items():
            for method in _WRITES:
                operation_spec = item.get(method)
                if operation_spec and operation_spec.get("operationId") == operation:
                    return path, method.upper(), operation_spec.get("parameters", []), "requestBody" in operation_spec
        raise MalformedBodyError(f"operation must be a tool of this service; got {operation!r}")

    async def _run(
        self, scope: Scope, method: str, path: str, headers: Mapping[str, str], body: bytes, *, query: str = ""
    ) -> BufferedResponse:
        sent_headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        sent_headers += [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
        inherited = {
            key: scope[key]
            for key in ("type", "asgi", "http_version", "scheme", "server", "client", "app")
            if key in scope
        }
        return await run_buffered(
            self._app,
            {
                **inherited,
                "method": method,
                "path": path,
                "raw_path": path.encode(),
                "root_path": "",
                "query_string": query.encode(),
                "headers": sent_headers,
                "state": scope.get("state", {}),
            },
            body,
        )


def _parse(body: bytes) -> SubmittedForm:
    try:
        return parse_form(body)
    except MalformedFormError as malformed:
        raise MalformedBodyError(str(malformed)) from malformed
