"""Enum values such as `in_progress` that are accepted in any letter case and with spaces, as pages show them."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Self

_CHOICE = re.compile("[a-z]+(_[a-z]+)*")


def fold_choice(text: str) -> str:
    """Return the stored form of a choice: `In progress` becomes `in_progress`, `MEDIUM` becomes `medium`."""
    return text.lower().replace(" ", "_")


def is_choice(text: str) -> bool:
    """Return whether a text is in stored form: lower-case words joined by underscores."""
    return _CHOICE.fullmatch(text) is not None


def same_choice(first: str, other: str) -> bool:
    """Return whether two texts are equal; if one is in stored form, return whether their stored forms are equal."""
    return first == other or (fold_choice(first) == fold_choice(other) and (is_choice(first) or is_choice(other)))


class Choice(StrEnum):
    """A StrEnum whose values are accepted in any letter case."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        folded = fold_choice(value) if isinstance(value, str) else None
        return next((member for member in cls if member.value == folded), None)
