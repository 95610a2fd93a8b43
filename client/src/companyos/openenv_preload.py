"""Imports OpenEnv without unused parts, which cuts the import from five seconds to two."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec

_OPENENV = "openenv.core"
_TOOLKIT = "gradio"
_RUBRICS = "openenv.core.rubrics"
_PARTS = ("base", "containers")


def preload_openenv() -> None:
    """Import OpenEnv as if the toolkit of its web page were not installed, and its rubrics without the model judge.

    Does nothing if OpenEnv or the toolkit is already imported. OpenEnv's own `/web` is then unavailable in this
    process;
    `openenv.core.rubrics` remains importable.
    """
    if _OPENENV in sys.modules or _TOOLKIT in sys.modules:
        return
    sys.modules[_TOOLKIT] = None  # type: ignore[assignment]  # marks a module as missing in the import system
    try:
        import_module(_OPENENV)
    finally:
        del sys.modules[_TOOLKIT]
    _preload_rubrics()


def _preload_rubrics() -> None:
    """Import the modules of rubrics without executing their package, which imports the client of a model endpoint."""
    spec = None if _RUBRICS in sys.modules else find_spec(_RUBRICS)
    if spec is None:
        return
    sys.modules[_RUBRICS] = module_from_spec(spec)  # not executed until the package is imported
    try:
        for part in _PARTS:
            import_module(f"{_RUBRICS}.{part}")
    finally:
        del sys.modules[_RUBRICS]
