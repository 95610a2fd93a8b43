"""The Python sources of the product, parsed once."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
FEATURE_FILES = frozenset({"routes", "service", "rules", "schemas", "model"})
FOLDERS = (
    "client",
    "deploy",
    "docs",
    "examples",
    "gateway",
    "integrations",
    "players",
    "results",
    "services",
    "shared",
    "tests",
    "verification",
)
PACKAGES = {
    "companyos_shared": "shared/src",
    "companyos_ticketdesk": "services/ticketdesk/src",
    "companyos_datahub": "services/datahub/src",
    "companyos_approvalflow": "services/approvalflow/src",
    "companyos_gateway": "gateway/src",
    "companyos": "client/src",
    "companyos_players": "players/src",
    "verification": ".",
}
"""The folder of each package with import contracts."""

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md"))])
SERVICES = tuple(sorted(path.name for path in (ROOT / "services").iterdir() if (path / "pyproject.toml").exists()))


@dataclass(frozen=True)
class Source:
    """One module: its path, and its tree, which is parsed on first access."""

    path: Path

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.path.read_text(), self.path.name)

    @property
    def place(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    def at(self, node: ast.AST) -> str:
        return f"{self.place}:{getattr(node, 'lineno', 1)}"


@cache
def sources(*folders: str) -> tuple[Source, ...]:
    """Return every module in the folders."""
    paths = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return tuple(map(_source, paths))


@cache
def _source(path: Path) -> Source:
    return Source(path)


def service_folder(service: str) -> Path:
    return ROOT / "services" / service / "src" / f"companyos_{service}"


def features(service: str) -> list[Path]:
    """Return the feature folders of a service: those with at least one of the files of a feature."""
    folders = (path for path in service_folder(service).iterdir() if path.is_dir())
    return sorted(folder for folder in folders if FEATURE_FILES & {path.stem for path in folder.glob("*.py")})
