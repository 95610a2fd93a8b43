"""The package that OpenEnv's commands work on: what the image is built from, and nothing that a checkout gathers.

`openenv validate` takes no folder with links in it; `openenv build` and `openenv push` want a Dockerfile, a README and
a `client.py` at the top. A checkout with `.venv` and caches is no such folder, the one that is written here is.
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
    """Write the package into a folder, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in _files():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    for name, top in TOP_LEVEL_FILES.items():
        shutil.copy2(ROOT / name, folder / top)


def _files() -> list[str]:
    """Return the files that git knows or would take, by their names from the root."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", *PARTS]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return sorted(name for name in listed.split("\0") if name and (ROOT / name).is_file())
