"""How a model and its environment talk: what it is told, and how its arguments are meant."""

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
    """The house's own: the task as it is told to any model, results as JSON, arguments as they are meant.

    One object serves one environment; `task` begins an episode. A language of your own overrides what it tells
    otherwise.
    """

    def task(self, text: str) -> str:
        """Return the task as the model is told it."""
        return text

    def answer(self, step: StepView) -> str:
        """Return what a step brought as JSON, and whether it was the last; its reward is no agent's to see."""
        text = result_text(step)
        return _compact(json.loads(text) | {"done": True}) if step.done else text

    def decoded(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments that the model means."""
        return arguments

    def encoded(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return arguments as the model would say them: what `meant` understands."""
        return arguments


class ShortNames(Language):
    """For a model that is too small to copy an id: #checklist1, #checklist2, #value1 stand for what is long.

    Whatever has a digit, and in results whatever stands in quotation marks, is called after the field in which it comes
    up first; an id after what it is the id of. Results keep ids, states, figures and which fields a form requires, and
    nothing that is empty. What such a model learns is the work: which tool comes when, and which of the names it takes.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._values: dict[str, Any] = {}
        self._counts: Counter[str] = Counter()

    def task(self, text: str) -> str:
        """Return the task with short names in it; those of the last episode are forgotten."""
        self._names, self._values, self._counts = {}, {}, Counter()
        return self._shorten_text(_WITH_DIGIT, text, "task")

    def answer(self, step: StepView) -> str:
        """Return what a step brought, briefly."""
        if step.done:
            return _compact({"done": True})
        if step.error is not None:
            return _compact({"error": self._shorten_text(_WITH_DIGIT, step.error, "error")})
        return _compact(_map_values(_keep_essentials(step.result), self._shorten))

    def decoded(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments with what the short names stand for."""
        decoded: dict[str, Any] = _map_values(arguments, self._expand)
        return decoded

    def encoded(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return arguments with the short names that are known so far."""
        encoded: dict[str, Any] = _map_values(arguments, self._apply_known_names)
        return encoded

    def _shorten(self, value: Any, field: str) -> Any:
        """Return the short name of a value, a new one where it has none; inside a text that of every part."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return value
        if isinstance(value, str):
            return self._shorten_text(_QUOTED_OR_WITH_DIGIT, value, field)
        return self._assign_name(str(value), value, field)

    def _shorten_text(self, part: re.Pattern[str], text: str, field: str) -> str:
        return part.sub(lambda found: self._assign_name(found[0], found[0], field), text)

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
        return SHORT_NAME.sub(lambda found: str(self._values.get(found[0], found[0])), encoded)

    def _apply_known_names(self, value: Any, _field_name: str) -> Any:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return value
        text = str(value).replace("+00:00", "Z")
        if text in self._names or not isinstance(value, str):
            return self._names.get(text, value)
        return _WORD.sub(lambda found: self._names.get(found[0], found[0]), text)


SHORT_NAME = re.compile(r"#[a-z_]+\d+")
_WORD = re.compile(r"\b\w(?:[\w:.+-]*\w)?\b")
_WITH_DIGIT = re.compile(r"\b(?=[\w:.+-]*\d)\w(?:[\w:.+-]*\w)?\b")
_QUOTED_OR_WITH_DIGIT = re.compile(rf'(?<=")[^"\s]+(?=")|{_WITH_DIGIT.pattern}')
_KEPT_FIELDS = frozenset(
    {"approval_ref", "as_of", "checklist", "code", "deputy", "description", "done_at", "error", "holders", "id"}
    | {"is_stale", "items", "key", "out_of_office", "person", "readings", "status", "value"}
)


def _keep_essentials(value: Any) -> Any:
    """Keep what a step turns on: of a form the fields that it requires, of a moment only that something was done."""
    if isinstance(value, dict):
        kept = {
            name: _keep_essentials(one)
            for name, one in value.items()
            if name in _KEPT_FIELDS and one not in (None, False, [], {})
        }
        match value.get("fields"):
            case [{"name": _, "required": _}, *_] as form_fields:
                kept["fields"] = [one["name"] for one in form_fields if one.get("required")]
        return kept | {"done_at": True} if "done_at" in kept else kept
    return [_keep_essentials(one) for one in value] if isinstance(value, list) else value


def _map_values(value: Any, translation: Translation, field: str = "") -> Any:
    """Translate every value that is no object and no list, with the field in which it stands."""
    match value:
        case dict():
            return {name: _map_values(one, translation, _field_name(name, field)) for name, one in value.items()}
        case list():
            return [_map_values(one, translation, field) for one in value]
        case _:
            return translation(value, field)


def _field_name(name: str, parent: str) -> str:
    return parent if name == "id" and parent else name


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
