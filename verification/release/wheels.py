"""Builds the files of a release: wheels, an SBOM, the requirements of a small client, and checksums.

Two builds of the same commit are byte-identical.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from verification.uv import ROOT, uv

DIST = ROOT / "dist"
SBOM = "sbom.cdx.json"
CLIENT_REQUIREMENTS = "requirements-client.txt"
CHECKSUMS = "SHA256SUMS"

OUTSIDE_WORKSPACE = ("integrations/verifiers",)
"""Packages of the repository outside its workspace."""

SERVER_ONLY = (
    *("fastapi", "fastmcp", "gradio", "huggingface-hub", "jsonschema", "pyyaml", "tomli", "tomli-w", "uvicorn"),
)
"""Dependencies of OpenEnv that only its server and command line import."""

_OF_CLIENT = ("companyos", "companyos_shared")
_SOURCE_DATE_EPOCH = str(1_577_836_800)  # 1 January 2020: the dates of files in wheels
_LOCKED = ("export", "--frozen", "--no-dev", "--no-header", "--no-annotate", "--no-emit-workspace")


def build_release(folder: Path) -> list[Path]:
    """Write all files of a release to a folder, replacing those of an earlier one, and return them. Raises UvError."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in [*folder.glob("*.whl"), *(folder / name for name in (SBOM, CLIENT_REQUIREMENTS, CHECKSUMS))]:
        old.unlink(missing_ok=True)
    wheels = build_wheels(folder)
    (folder / SBOM).write_text(_sbom(), encoding="utf-8")
    (folder / CLIENT_REQUIREMENTS).write_text(_client_requirements(wheels), encoding="utf-8")
    files = [*wheels, folder / CLIENT_REQUIREMENTS, folder / SBOM]
    sums = "".join(f"{_digest(file)}  {file.name}\n" for file in files)
    (folder / CHECKSUMS).write_text(sums, encoding="utf-8")
    return [*files, folder / CHECKSUMS]


def build_wheels(folder: Path) -> list[Path]:
    """Build a wheel of every package of the repository and return them in order of name. Raises UvError."""
    build_wheel(ROOT, folder, "--all-packages")
    for package in OUTSIDE_WORKSPACE:
        build_wheel(ROOT / package, folder)
    return sorted(folder.glob("*.whl"))


def build_wheel(package: Path, folder: Path, *options: str) -> None:
    """Build the wheel of a package. Raises UvError."""
    uv("build", "--wheel", "--out-dir", folder, *options, package, SOURCE_DATE_EPOCH=_SOURCE_DATE_EPOCH)


def locked_versions() -> str:
    """Return the locked versions of all dependencies as constraints. Raises UvError."""
    return uv(*_LOCKED, "--no-hashes", "--all-packages")


def _client_requirements(wheels: list[Path]) -> str:
    """Return the requirements of a client without OpenEnv's server, for `pip install --no-deps`."""
    pruned = [option for name in SERVER_ONLY for option in ("--prune", name)]
    own = [wheel for wheel in wheels if wheel.name.split("-")[0] in _OF_CLIENT]
    lines = [
        f"{name}=={version} \\\n    --hash=sha256:{_digest(wheel)}\n"
        for wheel in own
        for name, version in [wheel.name.split("-")[:2]]
    ]
    return uv(*_LOCKED, "--package", "companyos", *pruned) + "".join(lines)


def _sbom() -> str:
    """Return the SBOM of all packages in CycloneDX 1.5 format, without timestamp and serial number."""
    document = json.loads(uv("export", "--frozen", "--no-dev", "--all-packages", "--format", "cyclonedx1.5"))
    del document["serialNumber"], document["metadata"]["timestamp"]
    return json.dumps(document, indent=1) + "\n"


def _digest(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest()
