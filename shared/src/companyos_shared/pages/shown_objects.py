"""Shown objects of a page: the attributes of response models that its template reads."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

from jinja2 import Environment
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

IDENTITIES = ("id", "key", "metric_id", "policy_id", "person_id")
"""Attributes that identify an object; they are reported with its shown attributes."""


class ShownObjects:
    """Response models with an identity, and their shown attributes."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, ...], dict[str, Any]] = {}

    def add(self, model: BaseModel, *names: str) -> None:
        """Add attributes of a model, except those that contain other models, which are added separately."""
        fields = type(model).model_fields
        identity = {name: getattr(model, name) for name in IDENTITIES if name in fields}
        if identity:
            row = self._rows.setdefault((type(model).__name__, *map(str, identity.values())), identity)
            shown = {name: getattr(model, name) for name in names if name in fields and name not in row}
            row.update((name, to_jsonable_python(value)) for name, value in shown.items() if not _has_models(value))

    def add_values(self, models: Iterable[BaseModel], **identity: str) -> None:
        """Add models without their own identity, such as earlier values of a metric."""
        for model in models:
            row = {**identity, **model.model_dump(mode="json")}
            self._rows[("", *map(str, row.values()))] = row

    def rows(self) -> list[dict[str, Any]]:
        """Return one JSON object for each model that has shown attributes besides its identity."""
        return [row for row in self._rows.values() if row.keys() - IDENTITIES]


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
