"""A mutant in place of its module: functions take its code for a while, constants its values, then all is as before."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

PACKAGE = "companyos_gateway"
_PLAIN = (bool, int, float, str, tuple, frozenset, dict)


@contextmanager
def in_place_of(module: ModuleType, tree: ast.Module) -> Iterator[None]:
    """Let a module work as its mutant while this is entered. Objects made before keep their state."""
    space: dict[str, Any] = {"__name__": module.__name__, "__file__": module.__file__}
    exec(compile(tree, str(module.__file__), "exec"), space)  # noqa: S102  # our own source, changed in one place
    undo: list[Callable[[], None]] = []
    try:
        for name, value in space.items():
            undo += _patched(module, name, value)
        yield
    finally:
        for step in reversed(undo):
            step()


def _patched(module: ModuleType, name: str, value: Any) -> list[Callable[[], None]]:
    own = getattr(module, name, None)
    if isinstance(value, FunctionType) and isinstance(own, FunctionType) and value.__module__ == module.__name__:
        return _swapped(own, value)
    if isinstance(value, type) and isinstance(own, type) and value.__module__ == module.__name__:
        return [step for key, part in vars(value).items() for step in _swapped(_bare(vars(own).get(key)), _bare(part))]
    if isinstance(value, _PLAIN) and not name.startswith("__") and own != value:
        return _set_everywhere(name, own, value)
    return []


def _bare(part: Any) -> Any:
    """Return the function behind a property, a class method or a static method."""
    if isinstance(part, property):
        return part.fget
    return getattr(part, "__func__", part)


def _swapped(own: Any, other: Any) -> list[Callable[[], None]]:
    if not isinstance(own, FunctionType) or not isinstance(other, FunctionType):
        return []
    before = own.__code__
    if before == other.__code__ or before.co_freevars != other.__code__.co_freevars:
        return []
    own.__code__ = other.__code__
    return [lambda: setattr(own, "__code__", before)]


def _set_everywhere(name: str, own: Any, value: Any) -> list[Callable[[], None]]:
    undo: list[Callable[[], None]] = []
    for held in [one for key, one in sys.modules.items() if key.startswith(PACKAGE)]:
        if vars(held).get(name) is own:
            setattr(held, name, value)
            undo.append(lambda held=held: setattr(held, name, own))  # type: ignore[misc]
    return undo
