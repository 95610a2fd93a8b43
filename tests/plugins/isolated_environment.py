"""New environments outside of the repository, with wheels of the packages."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

from verification.release.environments import CleanEnvironment, CommandError
from verification.release.wheels import build_wheels, locked_versions


class IsolatedEnvironment(CleanEnvironment):
    """An environment in which the packages are installed, and the steps of a reader."""

    def follow(self, line: str) -> None:
        """Take one step of a shell block."""
        command, _, comment = (part.strip() for part in line.partition("#"))
        if command.startswith("cd "):
            self.work /= command.removeprefix("cd ")
        elif command.startswith("pip install "):
            self.install(*command.removeprefix("pip install ").split())
        elif comment == "fails":
            with pytest.raises(CommandError):
                self.run("sh", "-c", command)
        else:
            self.run("sh", "-c", command)


def build_isolated_environment(root: Path, *requirements: str, only: Collection[str] = ()) -> IsolatedEnvironment:
    """Return an environment with wheels of the workspace, or of some, and the other versions that the lock names."""
    locked = root / "locked.txt"
    locked.write_text(locked_versions())
    names = {wheel: wheel.name.partition("-")[0] for wheel in build_wheels(root / "wheels")}
    chosen = [wheel for wheel, name in names.items() if name in only or not (only or name == "companyos_verifiers")]
    environment = IsolatedEnvironment(root)
    environment.install("-c", locked, "pytest", *requirements, *chosen)
    return environment
