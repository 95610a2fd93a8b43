"""Traces which functions run; a mutant of a function that does not run cannot be detected."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from companyos_gateway import evaluation

Function = tuple[str, int]
"""A file and the first line of a function."""

_GATEWAY_FOLDER = str(Path(evaluation.__file__).parents[1])


def _is_gateway_code(code: CodeType) -> bool:
    return code.co_filename.startswith(_GATEWAY_FOLDER) and code.co_filename != __file__


@contextmanager
def trace_calls() -> Iterator[set[Function]]:
    """Record the project's functions that run inside the context."""
    codes: set[CodeType] = set()

    def record_frame(frame: FrameType, _event: str, _argument: Any) -> None:
        codes.add(frame.f_code)

    functions: set[Function] = set()
    before = sys.gettrace()
    sys.settrace(record_frame)
    try:
        yield functions
    finally:
        sys.settrace(before)
        functions |= {(code.co_filename, code.co_firstlineno) for code in codes if _is_gateway_code(code)}
