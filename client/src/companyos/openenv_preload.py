"""OpenEnv without what we never use of it, for processes that start often: two seconds, not five."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec

_OPENENV = "openenv.core"
_TOOLKIT = "gradio"
_RUBRICS = "openenv.core.rubrics"
_PARTS = ("base", "containers")


def preload_openenv() -> None:
    """Import OpenEnv as if the toolkit of its web page were not installed, and its rubrics without the judging model.

    Nothing happens where OpenEnv or the toolkit is imported already. OpenEnv's own `/web` is then not to be had in this
    process; `openenv.core.rubrics` is, whenever somebody imports it.
    """
    if _OPENENV in sys.modules or _TOOLKIT in sys.modules:
        return
    sys.modules[_TOOLKIT] = None  # type: ignore[assignment]  # the import system's own mark of what is not there
    try:
        import_module(_OPENENV)
    finally:
        del sys.modules[_TOOLKIT]
    _preload_rubrics()


def _preload_rubrics() -> None:
    """Import the modules of rubrics, but not their package: it imports the client of a model's endpoint."""
    spec = None if _RUBRICS in sys.modules else find_spec(_RUBRICS)
    if spec is None:
        return
    sys.modules[_RUBRICS] = module_from_spec(spec)  # not executed; whoever imports the package executes it
    try:
        for part in _PARTS:
            import_module(f"{_RUBRICS}.{part}")
    finally:
        del sys.modules[_RUBRICS]
