"""Choices: values of a fixed set, such as `in_progress`, accepted in any letter case and as pages show them."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Self

_CHOICE = re.compile("[a-z]+(_[a-z]+)*")


def fold_choice(text: str) -> str:
    """Return how a choice is stored: `In progress` is `in_progress`, `MEDIUM` is `medium`."""
    return text.lower().replace(" ", "_")


def is_choice(text: str) -> bool:
    """Say whether a text has the form in which choices are stored: words in lower case, joined by underscores."""
    return _CHOICE.fullmatch(text) is not None


def same_choice(one: str, other: str) -> bool:
    """Say whether two texts are the same, or one is the stored form of a choice and the other is that choice."""
    return one == other or (fold_choice(one) == fold_choice(other) and (is_choice(one) or is_choice(other)))


class Choice(StrEnum):
    """An enum whose values are accepted in any letter case; its members and its JSON schema are a StrEnum's."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        folded = fold_choice(value) if isinstance(value, str) else None
        return next((member for member in cls if member.value == folded), None)
