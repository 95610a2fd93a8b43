"""Routes of operations, which read the parameters of valid requests themselves.

FastAPI examines the types of all parameters again in each request, which takes longer than most operations. An
operation route examines them once, and reads them before it calls dependencies. FastAPI still handles invalid requests,
and operations with other kinds of parameters or responses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from inspect import iscoroutinefunction
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from fastapi import APIRouter
from fastapi.datastructures import DefaultPlaceholder
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import ResponseValidationError
from fastapi.params import Form
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from companyos_shared.framework.buffered_responses import replay

_INCLUDED_SCOPE_KEY = "fastapi"
"""Key of the scope if the router is included in another one, whose dependencies the route does not know."""

_JSON = "application/json"
_SCALARS = (str, int, float, date, NoneType)


class _InvalidRequestError(Exception):
    """Raised for a request that FastAPI has to reject."""


class _UnsupportedOperationError(Exception):
    """Raised for an operation whose requests FastAPI has to handle."""


@dataclass(frozen=True, slots=True)
class _Parameter:
    """A parameter from the path, the query or the headers."""

    name: str
    key: str
    validate: Callable[[Any], tuple[Any, Sequence[Any]]]
    is_required: bool
    default: Any

    def read(self, given: Mapping[str, Any]) -> Any:
        raw = given.get(self.key)
        if raw is not None:
            value, errors = self.validate(raw)
            if not errors:
                return value
        elif not self.is_required:
            return self.default
        raise _InvalidRequestError


class _Arguments:
    """The arguments of an endpoint or of a dependency, except for the body."""

    def __init__(self, dependant: Dependant) -> None:
        if dependant.call is None or not iscoroutinefunction(dependant.call) or _has_unusual_arguments(dependant):
            raise _UnsupportedOperationError
        self.call = dependant.call
        self._request_name = dependant.request_param_name
        self._dependencies = [(one.name, _Arguments(one)) for one in dependant.dependencies]
        self._path = list(_parameters(dependant.path_params))
        self._query = list(_parameters(dependant.query_params))
        self._headers = list(_parameters(dependant.header_params))

    def read(self, request: Request) -> tuple[dict[str, Any], list[Any]]:
        """Return the arguments in a request, without those of dependencies, and what each dependency reads.

        Raises _InvalidRequestError.
        """
        values: dict[str, Any] = {}
        if self._request_name is not None:
            values[self._request_name] = request
        if self._path:
            values.update((one.name, one.read(request.path_params)) for one in self._path)
        if self._query:
            values.update((one.name, one.read(request.query_params)) for one in self._query)
        if self._headers:
            values.update((one.name, one.read(request.headers)) for one in self._headers)
        return values, [dependency.read(request) for _, dependency in self._dependencies]

    async def resolve(self, read: tuple[dict[str, Any], list[Any]], results: dict[Any, Any]) -> dict[str, Any]:
        """Return all arguments. `results` contains those of dependencies, each of which is called once."""
        values, nested = read
        for (name, dependency), of_dependency in zip(self._dependencies, nested, strict=True):
            if dependency.call not in results:
                results[dependency.call] = await dependency.call(**await dependency.resolve(of_dependency, results))
            if name is not None:
                values[name] = results[dependency.call]
        return values


class OperationRoute(APIRoute):
    """A route that reads the parameters of valid requests itself."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        self._start = path.partition("{")[0]
        try:
            self._arguments = None if _has_unusual_bodies(self) else _Arguments(self.dependant)
        except _UnsupportedOperationError:
            self._arguments = None

    @property
    def reads_requests(self) -> bool:
        """Return whether the route reads valid requests itself."""
        return self._arguments is not None

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether the route has the path and the method of a request."""
        is_whole_path = not scope.get("root_path") and _INCLUDED_SCOPE_KEY not in scope
        if is_whole_path and not scope["path"].startswith(self._start):
            return Match.NONE, {}
        return super().matches(scope)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the endpoint and send its result."""
        is_own = scope["method"] in (self.methods or ()) and _INCLUDED_SCOPE_KEY not in scope
        if self._arguments is None or not is_own:
            await super().handle(scope, receive, send)
            return
        request = Request(scope, receive, send)
        body = b"" if self.body_field is None else await request.body()
        try:
            of_body, read = self._read_body(request, body), self._arguments.read(request)
        except _InvalidRequestError:
            await super().handle(scope, receive if self.body_field is None else replay(body, receive), send)
            return
        values = of_body | await self._arguments.resolve(read, {})
        await self._response(await self.endpoint(**values))(scope, receive, send)

    def _read_body(self, request: Request, body: bytes) -> dict[str, Any]:
        if self.body_field is None:
            return {}
        if request.headers.get("content-type") != _JSON:
            raise _InvalidRequestError
        try:
            value, errors = self.body_field.validate(json.loads(body))
        except (ValueError, RecursionError) as error:
            raise _InvalidRequestError from error
        if errors:
            raise _InvalidRequestError
        return {self.body_field.name: value}

    def _response(self, result: Any) -> Response:
        if isinstance(result, Response):
            return result
        assert self.response_field is not None
        value, errors = self.response_field.validate(result, loc=("response",))
        if errors:
            raise ResponseValidationError(errors, body=result)
        return Response(self.response_field.serialize_json(value), self.status_code or 200, media_type=_JSON)


class OperationRouter(APIRouter):
    """A router whose routes are operation routes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(route_class=OperationRoute, **options)


def _parameters(fields: Sequence[Any]) -> Iterator[_Parameter]:
    """Yield the parameters of FastAPI's fields; raises _UnsupportedOperationError for lists and models."""
    for field in fields:
        info = field.field_info
        default = None if info.is_required() else info.default
        is_usual = isinstance(info.validation_alias, (str, NoneType)) and isinstance(default, _SCALARS)
        if not is_usual or info.default_factory or info.validate_default or not _is_scalar(info.annotation):
            raise _UnsupportedOperationError
        key = info.validation_alias or field.alias
        yield _Parameter(field.name, key, field.validate, info.is_required(), default)


def _is_scalar(annotation: Any) -> bool:
    """Return whether values of a type are written as a single text."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _is_scalar(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return all(map(_is_scalar, get_args(annotation)))
    return origin is Literal or (isinstance(annotation, type) and issubclass(annotation, _SCALARS))


def _has_unusual_arguments(dependant: Dependant) -> bool:
    """Return whether an endpoint or a dependency has arguments of kinds that only FastAPI reads."""
    names = ("websocket", "http_connection", "response", "background_tasks", "security_scopes")
    return (
        any(getattr(dependant, f"{name}_param_name") is not None for name in names)
        or bool(dependant.cookie_params or dependant.own_oauth_scopes or dependant.concurrency)
        or not dependant.use_cache
        or any(one.scope for one in dependant.dependencies)
    )


def _has_unusual_bodies(route: APIRoute) -> bool:
    """Return whether a route has a body other than one JSON value, or a response other than its model as JSON."""
    fields = route.dependant.body_params
    return (
        bool(route.body_field and (len(fields) != 1 or route._embed_body_fields))
        or any(isinstance(one.field_info, Form) for one in fields)
        or route.dependency_overrides_provider is not None
        or route.response_field is None
        or not isinstance(route.response_class, DefaultPlaceholder)
        or not route.response_model_by_alias
        or bool(route.response_model_include or route.response_model_exclude)
        or route.response_model_exclude_unset
        or route.response_model_exclude_defaults
        or route.response_model_exclude_none
    )
