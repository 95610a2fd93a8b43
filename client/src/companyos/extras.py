"""What brings an extra: the package index, or in a clone, of which no index has anything yet, the clone itself."""

from __future__ import annotations

import sys
from pathlib import Path

_CLONE = Path(__file__).resolve().parents[3]
_UV = ".venv-tools/bin/uv"


def installing(extra: str, clone: Path = _CLONE) -> str:
    """Return the command that installs an extra here; in a clone it is to be run in the clone's folder."""
    if not (clone / _UV).exists():
        return f"pip install 'companyos[{extra}]'"
    own = Path(sys.prefix)
    python = own.relative_to(clone) if own.is_relative_to(clone) else own
    return f"{_UV} pip install --python {python} -e './client[{extra}]'"
