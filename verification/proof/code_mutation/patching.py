"""Patches a module with its mutant: replaces function code and constants, and restores them afterwards."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

PACKAGE = "companyos_gateway"
_CONSTANT_TYPES = (bool, int, float, str, bytes, tuple, frozenset, dict)


@contextmanager
def mutant_in_place(module: ModuleType, tree: ast.Module) -> Iterator[None]:
    """Replace a module's code and constants with its mutant's in the context. Existing objects keep their state."""
    namespace: dict[str, Any] = {"__name__": module.__name__, "__file__": module.__file__}
    exec(compile(tree, str(module.__file__), "exec"), namespace)  # noqa: S102  # our own source, changed in one place
    undo: list[Callable[[], None]] = []
    try:
        for name, value in namespace.items():
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
        return [
            step
            for key, part in vars(value).items()
            for step in _swapped(_unwrapped(vars(own).get(key)), _unwrapped(part))
        ]
    if isinstance(value, _CONSTANT_TYPES) and not name.startswith("__") and own != value:
        return _set_everywhere(name, own, value)
    return []


def _unwrapped(part: Any) -> Any:
    """Return the function of a property, class method or static method."""
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
    for loaded in [one for key, one in sys.modules.items() if key.startswith(PACKAGE)]:
        if vars(loaded).get(name) is own:
            setattr(loaded, name, value)
            undo.append(lambda loaded=loaded: setattr(loaded, name, own))  # type: ignore[misc]
    return undo
