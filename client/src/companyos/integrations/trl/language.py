"""Text formats between model and environment: task, results and arguments."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from companyos.policies import StepView
from companyos.policies.llm.prompt import result_text

Translation = Callable[[Any, str], Any]


class Language:
    """Default format: the task text for every model, results as JSON, arguments unchanged.

    Each environment has its own instance; `task` starts an episode. Subclasses override the formats.
    """

    def task(self, text: str) -> str:
        """Return the task text for the model."""
        return text

    def answer(self, step: StepView) -> str:
        """Return the result of a step as JSON, with `done` after the last one; the reward is omitted."""
        text = result_text(step)
        return _compact(json.loads(text) | {"done": True}) if step.done else text

    def decoded(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments in the environment's format."""
        return arguments

    def encoded(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return arguments in the model's format: the inverse of `decoded`."""
        return arguments


class ShortNames(Language):
    """Format for models too small to copy ids: #checklist1, #checklist2, #value1 replace long values.

    Values with a digit, and quoted values in results, are named after the field in which they first occur; ids after
    their entity. Results contain only ids, references, states, numbers and required form fields, without empty values.
    Such a model learns the workflow: the next tool, and the names to pass to it.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._values: dict[str, Any] = {}
        self._counts: Counter[str] = Counter()

    def task(self, text: str) -> str:
        """Return the task with short names; names of the previous episode are dropped."""
        self._names, self._values, self._counts = {}, {}, Counter()
        return self._shorten_text(_WITH_DIGIT, text, "task")

    def answer(self, step: StepView) -> str:
        """Return a shortened result of a step."""
        if step.done:
            return _compact({"done": True})
        if step.error is not None:
            return _compact({"error": self._shorten_text(_WITH_DIGIT, step.error, "error")})
        return _compact(_map_values(_keep_essentials(step.result), self._shorten))

    def decoded(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments with short names replaced by their values."""
        decoded: dict[str, Any] = _map_values(arguments, self._expand)
        return decoded

    def encoded(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return arguments with known values replaced by short names."""
        encoded: dict[str, Any] = _map_values(arguments, self._apply_known_names)
        return encoded

    def _shorten(self, value: Any, field: str) -> Any:
        """Return the short name of a value, assigned on first use; in a text, replace every matching part."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return value
        if isinstance(value, str):
            return self._shorten_text(_QUOTED_OR_WITH_DIGIT, value, field)
        return self._assign_name(str(value), value, field)

    def _shorten_text(self, part: re.Pattern[str], text: str, field: str) -> str:
        return part.sub(lambda match: self._assign_name(match[0], match[0], field), text)

    def _assign_name(self, text: str, value: Any, field: str) -> str:
        if text not in self._names:
            self._counts[field] += 1
            name = f"#{field}{self._counts[field]}"
            self._names[text], self._values[name] = name, value
        return self._names[text]

    def _expand(self, encoded: Any, _field_name: str) -> Any:
        if not isinstance(encoded, str):
            return encoded
        if encoded in self._values:
            return self._values[encoded]
        return SHORT_NAME.sub(lambda match: str(self._values.get(match[0], match[0])), encoded)

    def _apply_known_names(self, value: Any, _field_name: str) -> Any:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return value
        text = str(value).replace("+00:00", "Z")
        if text in self._names or not isinstance(value, str):
            return self._names.get(text, value)
        return _WORD.sub(lambda match: self._names.get(match[0], match[0]), text)


SHORT_NAME = re.compile(r"#[a-z_]+\d+")
_WORD = re.compile(r"\b\w(?:[\w:.+-]*\w)?\b")
_WITH_DIGIT = re.compile(r"\b(?=[\w:.+-]*\d)\w(?:[\w:.+-]*\w)?\b")
_QUOTED_OR_WITH_DIGIT = re.compile(rf'(?<=")[^"\s]+(?=")|{_WITH_DIGIT.pattern}')
_KEPT_FIELDS = frozenset(
    {"approval_ref", "as_of", "assignee_id", "checklist", "code", "deputy", "description", "done_at"}
    | {"error", "holders", "id", "is_stale", "items", "key", "out_of_office", "person", "policy_ref"}
    | {"readings", "source_id", "status", "value"}
)


def _keep_essentials(value: Any) -> Any:
    """Keep the essentials of a result: the required fields of a form, and only the presence of timestamps."""
    if isinstance(value, dict):
        kept = {
            name: _keep_essentials(field)
            for name, field in value.items()
            if name in _KEPT_FIELDS and field not in (None, False, [], {})
        }
        match value.get("fields"):
            case [{"name": _, "required": _}, *_] as form_fields:
                kept["fields"] = [field["name"] for field in form_fields if field.get("required")]
        return kept | {"done_at": True} if "done_at" in kept else kept
    return [_keep_essentials(field) for field in value] if isinstance(value, list) else value


def _map_values(value: Any, translation: Translation, field: str = "") -> Any:
    """Apply a translation to every scalar value with the name of its field."""
    match value:
        case dict():
            return {name: _map_values(item, translation, _field_name(name, field)) for name, item in value.items()}
        case list():
            return [_map_values(item, translation, field) for item in value]
        case _:
            return translation(value, field)


def _field_name(name: str, parent: str) -> str:
    return parent if name == "id" and parent else name


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
