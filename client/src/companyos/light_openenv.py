"""OpenEnv without the toolkit of its web page, for processes that never show it: two seconds to start, not five."""

from __future__ import annotations

import sys
from importlib import import_module

_OPENENV = "openenv.core"
_TOOLKIT = "gradio"


def import_light_openenv() -> None:
    """Import OpenEnv as if the toolkit of its web page were not installed, which OpenEnv allows for.

    Nothing happens where either is imported already. OpenEnv's own `/web` is then not to be had in this process.
    """
    if _OPENENV in sys.modules or _TOOLKIT in sys.modules:
        return
    sys.modules[_TOOLKIT] = None  # type: ignore[assignment]  # the import system's own mark of what is not there
    try:
        import_module(_OPENENV)
    finally:
        del sys.modules[_TOOLKIT]
