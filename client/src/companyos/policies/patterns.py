"""Strings that match a regular expression: enough of the syntax for the patterns of JSON Schemas."""

from __future__ import annotations

import re
import string

from companyos_shared.streams import Stream

_ANY = string.ascii_letters + string.digits
_CLASSES = {"d": string.digits, "w": _ANY + "_", "s": " ", "S": _ANY, "D": string.ascii_letters}
_UNBOUNDED_EXTRA = 3
"""How many repetitions beyond the least an unbounded quantifier draws at most."""

_MAX_LENGTH = 256


class UnsupportedPattern(ValueError):
    """Raised for a regular expression that uses more than literals, classes, groups and quantifiers."""


def draw_match(pattern: str, stream: Stream) -> str:
    """Return a string that the pattern matches as a whole. Raises UnsupportedPattern."""
    drawn = _Sampler(pattern, stream).draw()[:_MAX_LENGTH]
    if re.search(pattern, drawn) is None:
        raise UnsupportedPattern(pattern)
    return drawn


class _Sampler:
    """Reads the pattern from left to right and draws as it reads; groups are read once per repetition."""

    def __init__(self, pattern: str, stream: Stream) -> None:
        self._pattern = pattern
        self._stream = stream
        self._at = 0

    def draw(self) -> str:
        drawn = self._alternatives()
        if self._at != len(self._pattern):
            raise UnsupportedPattern(self._pattern)
        return drawn

    def _alternatives(self) -> str:
        drawn = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            drawn.append(self._sequence())
        return self._stream.choice(drawn)

    def _sequence(self) -> str:
        drawn = []
        while self._peek() not in ("", "|", ")"):
            if self._peek() in "^$":
                self._at += 1
                continue
            drawn.append(self._repeated())
        return "".join(drawn)

    def _repeated(self) -> str:
        start = self._at
        first = self._atom()
        end_of_atom = self._at
        least, most = self._quantifier()
        behind = self._at
        count = self._stream.integer(least, most)
        drawn = [first][:count]
        while len(drawn) < count:
            self._at = start
            drawn.append(self._atom())
            if self._at != end_of_atom:
                raise UnsupportedPattern(self._pattern)
        self._at = behind
        return "".join(drawn)

    def _atom(self) -> str:
        char = self._take()
        if char == "(":
            return self._group()
        if char == "[":
            return self._stream.choice(self._class())
        if char == "\\":
            return self._stream.choice(self._escaped())
        if char == ".":
            return self._stream.choice(_ANY)
        if char in "*+?{":
            raise UnsupportedPattern(self._pattern)
        return char

    def _group(self) -> str:
        if self._peek() == "?":
            if self._pattern[self._at : self._at + 2] != "?:":
                raise UnsupportedPattern(self._pattern)
            self._at += 2
        drawn = self._alternatives()
        if self._take() != ")":
            raise UnsupportedPattern(self._pattern)
        return drawn

    def _class(self) -> str:
        is_negated = self._peek() == "^"
        self._at += is_negated
        members = ""
        while (char := self._take()) != "]":
            found = self._escaped() if char == "\\" else char
            if self._peek() == "-" and self._pattern[self._at + 1 : self._at + 2] not in ("", "]"):
                self._at += 1
                last = self._take()
                found = "".join(chr(code) for code in range(ord(found), ord(last) + 1))
            members += found
        if is_negated:
            members = "".join(char for char in _ANY if char not in members)
        if not members:
            raise UnsupportedPattern(self._pattern)
        return members

    def _escaped(self) -> str:
        char = self._take()
        if char.isalnum() and char not in _CLASSES:
            raise UnsupportedPattern(self._pattern)
        return _CLASSES.get(char, char)

    def _quantifier(self) -> tuple[int, int]:
        found = re.compile(r"\?|\*|\+|\{(\d+)(?:(,)(\d*))?\}").match(self._pattern, self._at)
        if found is None:
            return 1, 1
        self._at = found.end()
        if found[1] is None:
            return {"?": (0, 1), "*": (0, _UNBOUNDED_EXTRA), "+": (1, 1 + _UNBOUNDED_EXTRA)}[found[0]]
        least = int(found[1])
        if found[2] is None:
            return least, least
        return least, int(found[3]) if found[3] else least + _UNBOUNDED_EXTRA

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _take(self) -> str:
        char = self._peek()
        if not char:
            raise UnsupportedPattern(self._pattern)
        self._at += 1
        return char
