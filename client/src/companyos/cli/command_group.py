"""The group of all commands, which words the errors of invalid option values."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

_TEXTS = {
    "less_than_equal": "must be at most {le}; got {value}",
    "greater_than_equal": "must be at least {ge}; got {value}",
    "int_parsing": "must be a whole number; got {value!r}",
    "int_parsing_size": "must have at most 4,300 digits; got {value:.12}...",
    "float_parsing": "must be a number; got {value!r}",
}
"""Texts by the type of Pydantic's error."""


class CommandGroup(TyperGroup):
    """Commands whose errors of invalid values state the value and what is accepted."""

    def invoke(self, ctx: Any) -> Any:
        """Invoke a command. Raises BadParameter for an invalid value."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = _text(error)
            raise


def _text(error: typer.BadParameter) -> str:
    """Return the text of an error; Typer's own omits the value if Pydantic rejected it."""
    from pydantic import ValidationError

    if not isinstance(error.__cause__, ValidationError):
        return error.message
    first = error.__cause__.errors(include_url=False)[0]
    context = first.get("ctx", {})
    if "error" in context:
        return str(context["error"])
    text = _TEXTS.get(first["type"])
    return f"{first['msg']}; got {first['input']!r}" if text is None else text.format(value=first["input"], **context)
