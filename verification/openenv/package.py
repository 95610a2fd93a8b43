"""Builds the package for OpenEnv's commands: the inputs of the image, without caches and links of a checkout.

`openenv validate` rejects folders with links; `openenv build` and `openenv push` require a Dockerfile, a README and a
`client.py` at the top level.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from verification.openenv.manifest import ROOT

PARTS = (
    ".dockerignore",
    "LICENSE",
    "openenv.yaml",
    "pyproject.toml",
    "uv.lock",
    "client",
    "deploy/space",
    "gateway",
    "players",
    "services",
    "shared",
    "verification/openenv",
)
TOP_LEVEL_FILES = {
    "deploy/space/Dockerfile": "Dockerfile",
    "deploy/space/README.md": "README.md",
    "deploy/space/client.py": "client.py",
    "deploy/space/__init__.py": "__init__.py",
}


def assemble(folder: Path) -> None:
    """Write the package to a folder, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in _files():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    for name, top in TOP_LEVEL_FILES.items():
        shutil.copy2(ROOT / name, folder / top)


def _files() -> list[str]:
    """Return the tracked and unignored files by relative name."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", *PARTS]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return sorted(name for name in listed.split("\0") if name and (ROOT / name).is_file())
