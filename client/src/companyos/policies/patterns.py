"""Generates strings that match a regular expression, for the patterns of JSON Schemas."""

from __future__ import annotations

import re
import string

from companyos_shared.streams import Stream

_ANY = string.ascii_letters + string.digits
_CLASSES = {"d": string.digits, "w": _ANY + "_", "s": " ", "S": _ANY, "D": string.ascii_letters}
_UNBOUNDED_EXTRA = 3
"""Maximum repetitions beyond the minimum for an unbounded quantifier."""

_MAX_LENGTH = 256


class UnsupportedPatternError(ValueError):
    """Raised for a regular expression that uses more than literals, classes, groups and quantifiers."""


def sample_match(pattern: str, stream: Stream) -> str:
    """Return a string that fully matches the pattern. Raises UnsupportedPatternError."""
    drawn = _Sampler(pattern, stream).draw()[:_MAX_LENGTH]
    if re.search(pattern, drawn) is None:
        raise UnsupportedPatternError(pattern)
    return drawn


class _Sampler:
    """Parses the pattern from left to right and samples while parsing; groups are parsed once per repetition."""

    def __init__(self, pattern: str, stream: Stream) -> None:
        self._pattern = pattern
        self._stream = stream
        self._position = 0

    def draw(self) -> str:
        drawn = self._alternatives()
        if self._position != len(self._pattern):
            raise UnsupportedPatternError(self._pattern)
        return drawn

    def _alternatives(self) -> str:
        drawn = [self._sequence()]
        while self._peek() == "|":
            self._position += 1
            drawn.append(self._sequence())
        return self._stream.choice(drawn)

    def _sequence(self) -> str:
        drawn = []
        while self._peek() not in ("", "|", ")"):
            if self._peek() in "^$":
                self._position += 1
                continue
            drawn.append(self._repeated())
        return "".join(drawn)

    def _repeated(self) -> str:
        start = self._position
        first = self._atom()
        end_of_atom = self._position
        minimum, maximum = self._quantifier()
        after_quantifier = self._position
        count = self._stream.integer(minimum, maximum)
        drawn = [first][:count]
        while len(drawn) < count:
            self._position = start
            drawn.append(self._atom())
            if self._position != end_of_atom:
                raise UnsupportedPatternError(self._pattern)
        self._position = after_quantifier
        return "".join(drawn)

    def _atom(self) -> str:
        char = self._next_char()
        if char == "(":
            return self._group()
        if char == "[":
            return self._stream.choice(self._class())
        if char == "\\":
            return self._stream.choice(self._escaped())
        if char == ".":
            return self._stream.choice(_ANY)
        if char in "*+?{":
            raise UnsupportedPatternError(self._pattern)
        return char

    def _group(self) -> str:
        if self._peek() == "?":
            if self._pattern[self._position : self._position + 2] != "?:":
                raise UnsupportedPatternError(self._pattern)
            self._position += 2
        drawn = self._alternatives()
        if self._next_char() != ")":
            raise UnsupportedPatternError(self._pattern)
        return drawn

    def _class(self) -> str:
        is_negated = self._peek() == "^"
        self._position += is_negated
        members = ""
        while (char := self._next_char()) != "]":
            parsed = self._escaped() if char == "\\" else char
            if self._peek() == "-" and self._pattern[self._position + 1 : self._position + 2] not in ("", "]"):
                self._position += 1
                last = self._next_char()
                parsed = "".join(chr(code) for code in range(ord(parsed), ord(last) + 1))
            members += parsed
        if is_negated:
            members = "".join(char for char in _ANY if char not in members)
        if not members:
            raise UnsupportedPatternError(self._pattern)
        return members

    def _escaped(self) -> str:
        char = self._next_char()
        if char.isalnum() and char not in _CLASSES:
            raise UnsupportedPatternError(self._pattern)
        return _CLASSES.get(char, char)

    def _quantifier(self) -> tuple[int, int]:
        parsed = re.compile(r"\?|\*|\+|\{(\d+)(?:(,)(\d*))?\}").match(self._pattern, self._position)
        if parsed is None:
            return 1, 1
        self._position = parsed.end()
        if parsed[1] is None:
            return {"?": (0, 1), "*": (0, _UNBOUNDED_EXTRA), "+": (1, 1 + _UNBOUNDED_EXTRA)}[parsed[0]]
        minimum = int(parsed[1])
        if parsed[2] is None:
            return minimum, minimum
        return minimum, int(parsed[3]) if parsed[3] else minimum + _UNBOUNDED_EXTRA

    def _peek(self) -> str:
        return self._pattern[self._position : self._position + 1]

    def _next_char(self) -> str:
        char = self._peek()
        if not char:
            raise UnsupportedPatternError(self._pattern)
        self._position += 1
        return char
