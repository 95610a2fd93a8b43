"""Shown objects of a page: the attributes of response models that its template reads."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

from jinja2 import Environment
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

IDENTITIES = ("id", "key", "metric_id", "policy_id", "person_id", "role")
"""Attributes that identify an object; they are reported with its shown attributes. The first one that is present names
the entity of an object.
"""


class ShownObjects:
    """Response models with an identity, and their shown attributes."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, ...], dict[str, Any]] = {}

    def add(self, model: BaseModel, *names: str) -> None:
        """Add attributes of a model.

        An attribute that is a model is added separately, and so are those in lists, of which the list has the identity.
        """
        fields = type(model).model_fields
        if identity := _identity(model):
            row = self._rows.setdefault((type(model).__name__, *map(str, identity.values())), identity)
            for name in names:
                if name in fields and name not in row and not isinstance(value := getattr(model, name), BaseModel):
                    row[name] = to_jsonable_python(_without_models(value))

    def add_values(self, models: Iterable[BaseModel], **identity: str) -> None:
        """Add models without their own identity, such as earlier values of a metric."""
        for model in models:
            row = {**identity, **model.model_dump(mode="json")}
            self._rows[("", *map(str, row.values()))] = row

    def rows(self) -> list[dict[str, Any]]:
        """Return one JSON object for each model that has shown attributes besides its identity."""
        return [row for row in self._rows.values() if row.keys() - IDENTITIES]


def _identity(model: BaseModel) -> dict[str, Any]:
    return {name: getattr(model, name) for name in IDENTITIES if name in type(model).model_fields}


def _without_models(value: Any) -> Any:
    """Return a value in which each model of a list is replaced by its identity."""
    if isinstance(value, BaseModel):
        return _identity(value)
    return [_without_models(one) for one in value] if isinstance(value, list | tuple) else value


RENDERED: ContextVar[ShownObjects | None] = ContextVar("RENDERED", default=None)
"""The objects of the page that is being rendered."""


class RecordingEnvironment(Environment):
    """Jinja environment that records which attributes of models a template reads."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return an attribute of an object, as `obj.attribute` in a template does."""
        if isinstance(obj, BaseModel) and (shown := RENDERED.get()) is not None:
            shown.add(obj, attribute)
        return super().getattr(obj, attribute)
