"""Shown objects of a page: the attributes of response models that its template reads."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from jinja2 import Environment
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

IDENTITIES = ("id", "key", "metric_id", "policy_id", "person_id")
"""Attributes that identify an object; they are reported with whatever else is shown of it."""


class ShownObjects:
    """Response models and those of their attributes that were shown."""

    def __init__(self) -> None:
        self._shown: dict[int, tuple[BaseModel, set[str]]] = {}

    def add(self, model: BaseModel, *names: str) -> None:
        """Add attributes of a model."""
        self._shown.setdefault(id(model), (model, set()))[1].update(names)

    def rows(self) -> list[dict[str, Any]]:
        """Return one JSON object per model. Attributes that contain other models are left out: those are rows too."""
        return [row for model, names in self._shown.values() if len(row := _row(model, names)) > 1]


def _row(model: BaseModel, names: set[str]) -> dict[str, Any]:
    fields = type(model).model_fields
    found = {name: getattr(model, name) for name in (*IDENTITIES, *sorted(names)) if name in fields}
    return {name: to_jsonable_python(value) for name, value in found.items() if not _has_models(value)}


def _has_models(value: Any) -> bool:
    return isinstance(value, BaseModel) or (isinstance(value, list | tuple) and any(map(_has_models, value)))


RENDERED: ContextVar[ShownObjects | None] = ContextVar("RENDERED", default=None)
"""The objects of the page that is being rendered."""


class RecordingEnvironment(Environment):
    """Jinja environment that records which attributes of models a template reads."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return an attribute of an object, as `obj.attribute` in a template does."""
        if isinstance(obj, BaseModel) and (shown := RENDERED.get()) is not None:
            shown.add(obj, attribute)
        return super().getattr(obj, attribute)
