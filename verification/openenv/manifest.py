"""Reads the manifest in the repository root, as OpenEnv parses it, and the runtime plan and canaries next to it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openenv.validation.manifest import ExecutionDeclaration, NormalizedManifestV2
from openenv.validation.parsers.openenv_yaml import OpenEnvYamlParser
from openenv.validation.runtime.contracts import RuntimePlan, load_runtime_plan

ROOT = Path(__file__).parents[2]
MANIFEST = ROOT / "openenv.yaml"
PLAN = ROOT / "verification" / "openenv" / "runtime.json"
CANARIES = ROOT / "verification" / "openenv" / "canaries.json"


@dataclass(frozen=True)
class Canary:
    """A recorded agent that takes a shortcut; its reward must be far below the maximum."""

    name: str
    does: str
    reset: dict[str, Any]
    actions: list[dict[str, Any]]


def manifest() -> NormalizedManifestV2:
    """Return the manifest. Raises ManifestError."""
    found = OpenEnvYamlParser().parse(ROOT)
    if not isinstance(found, NormalizedManifestV2):
        raise TypeError("the manifest declares no execution")
    return found


def runtime_plan(execution: ExecutionDeclaration) -> RuntimePlan:
    """Return the runtime plan, an oracle episode. Raises RuntimePlanError."""
    return load_runtime_plan(ROOT, execution)


def canaries() -> list[Canary]:
    """Return the canaries."""
    return [Canary(**item) for item in json.loads(CANARIES.read_text(encoding="utf-8"))]
