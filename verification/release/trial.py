"""The steps of a user with a release on one Python: installation, each command, and play with only a client."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from companyos.cli.demo import POLICIES
from verification.release.environments import CleanEnvironment, CommandError
from verification.release.gateway import fetch_page, running_gateway
from verification.release.wheels import CLIENT_REQUIREMENTS, build_wheel
from verification.uv import ROOT, UvError

PLUGIN = ROOT / "tests" / "plugins" / "acme_parking"
PAGES = ("/", "/console", "/console/scenarios", "/docs")
ABSENT = ("gradio", "fastmcp", "fastapi")
"""Packages that the small client must not contain."""

_README_URL = "http://127.0.0.1:8000"
_OWN_PACKAGES = "companyos, companyos_gateway, companyos_players, companyos_shared, companyos_ticketdesk, verification"
_ORIGINS = "import {0}; print(*(module.__file__ for module in ({0})), sep='\\n')"


@dataclass(frozen=True)
class Step:
    """One step of a user. `problem` is empty if it succeeded; `detail` is the result."""

    python: str
    name: str
    seconds: float
    detail: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Size:
    """An installed environment: its number of packages, and its megabytes without bytecode."""

    python: str
    environment: str
    packages: int
    megabytes: float


@dataclass
class Trial:
    """The steps with one Python, and the sizes of its environments."""

    version: str
    python: Path
    folder: Path
    dist: Path
    locked: Path
    report: Callable[[Step], None]
    steps: list[Step] = field(default_factory=list)
    sizes: list[Size] = field(default_factory=list)

    def run(self) -> None:
        """Run all steps. A failed step does not prevent the others, except for the installation."""
        server = self._install("server", "companyos[server]", "companyos-verification", "openenv-companyos")
        if server is None:
            return
        self._try("origin, help", lambda: _check_help(server))
        self._try("up", lambda: _check_pages(server))
        self._try("demo", lambda: _check_demo(server))
        self._try("eval", lambda: _evaluate(server, "--policy", "oracle", "-n", "2"))
        self._try("report, view", lambda: _check_reports(server))
        self._try("rescore", lambda: _rescore(server))
        clients = (self._install("client", "companyos"), self._install_small_client())
        self._try("clients", lambda: _play_with(server, [client for client in clients if client is not None]))
        self._try("plugin", lambda: self._play_plugin(server))

    def _install(self, name: str, *packages: str | Path) -> CleanEnvironment | None:
        return self._created(name, lambda made: made.install("--find-links", self.dist, "-c", self.locked, *packages))

    def _install_small_client(self) -> CleanEnvironment | None:
        requirements = ("--require-hashes", "-r", self.dist / CLIENT_REQUIREMENTS)
        return self._created(
            "small client", lambda made: made.install("--no-deps", "--find-links", self.dist, *requirements)
        )

    def _created(self, name: str, install: Callable[[CleanEnvironment], None]) -> CleanEnvironment | None:
        """Create an environment, install packages in it and record its size; return None if that fails."""
        created: list[CleanEnvironment] = []

        def create() -> str:
            environment = CleanEnvironment(self.folder / name.replace(" ", "-"), self.python)
            install(environment)
            size = Size(self.version, name, environment.packages(), environment.size_mb())
            self.sizes.append(size)
            created.append(environment)
            return f"{size.packages} packages, {size.megabytes:.0f} MB"

        self._try(f"install {name}", create)
        return created[0] if created else None

    def _try(self, name: str, action: Callable[[], str]) -> None:
        began, detail, problem = time.monotonic(), "", ""
        try:
            detail = action()
        except (CommandError, UvError) as error:
            problem = str(error)
        step = Step(self.version, name, time.monotonic() - began, detail, problem)
        self.steps.append(step)
        self.report(step)

    def _play_plugin(self, server: CleanEnvironment) -> str:
        """Build the wheel of a plugin, install it and play its scenario with its policy."""
        wheels = self.folder / "plugin"
        build_wheel(PLUGIN, wheels)
        server.install("--find-links", self.dist, "-c", self.locked, *wheels.glob("*.whl"))
        options = ("--policy", "parking_clerk", "--scenario", "parking_permit", "--chaos", "5", "-n", "1")
        return _evaluate(server, *options, out="plugin")


def _check_help(server: CleanEnvironment) -> str:
    origins = server.run("python", "-c", _ORIGINS.format(_OWN_PACKAGES)).splitlines()
    foreign = [origin for origin in origins if not Path(origin).is_relative_to(server.root)]
    if foreign:
        raise CommandError(f"imported from elsewhere: {', '.join(foreign)}")
    if "companyos demo" not in server.run("companyos", "--help"):
        raise CommandError("companyos --help names no command")
    return server.run("companyos", "--version").strip()


def _check_pages(server: CleanEnvironment) -> str:
    with running_gateway(server) as url:
        files = sum(fetch_page(url + page) for page in PAGES)
    return f"{len(PAGES)} pages, {files} files"


def _check_demo(server: CleanEnvironment) -> str:
    shown = server.run("companyos", "demo")
    if not all(policy in shown for policy in POLICIES):
        raise CommandError(f"companyos demo does not compare {', '.join(POLICIES)}")
    return f"{len(POLICIES)} policies compared"


def _rescore(server: CleanEnvironment) -> str:
    """Judge the stored run again, which fails if a verdict changes. Raises CommandError."""
    server.run("companyos", "rescore", "run")
    return "verdicts unchanged"


def _evaluate(environment: CleanEnvironment, *options: str, out: str = "run", solved: bool = True) -> str:
    """Evaluate a policy and return how many episodes it solved; with `solved`, all must be. Raises CommandError."""
    environment.run("companyos", "eval", *options, "--out", out)
    lines = (environment.work / out / "episodes.jsonl").read_bytes().splitlines()
    records = [json.loads(line) for line in lines]
    failed = [f"{one['scenario']} seed {one['seed']}: {one['outcome']}" for one in records if not one["success"]]
    if not records or any(one["trouble"] for one in records) or (solved and failed):
        raise CommandError(f"{len(records)} episodes were played; not solved: {', '.join(failed) or 'none'}")
    return f"{len(records) - len(failed)} of {len(records)} episodes solved"


def _check_reports(environment: CleanEnvironment) -> str:
    environment.run("companyos", "report", "run", "--out", "report.html")
    environment.run("companyos", "view", "run", "--export", "view.html")
    sizes = [(environment.work / name).stat().st_size for name in ("report.html", "view.html")]
    return f"{sum(sizes) / 1000:.0f} kB of HTML"


def _play_with(server: CleanEnvironment, clients: list[CleanEnvironment]) -> str:
    """Run README's typed client and a policy in each client environment, with a gateway in the server environment."""
    if len(clients) < 2:
        raise CommandError("a client was not installed")
    lacking = [name for name in ABSENT if _is_installed(clients[1], name)]
    if lacking:
        raise CommandError(f"the small client has {', '.join(lacking)}")
    with running_gateway(server) as url:
        for client in clients:
            client.run("companyos", "--help")
            for block in _readme_clients():
                client.run("python", "-c", block.replace(_README_URL, url))
            client.run("companyos", "tasks", "--url", url)
            _evaluate(client, "--policy", "grounded", "-n", "1", "--url", url, solved=False)
            _check_reports(client)
    return "README's example and an episode in each"


def _is_installed(environment: CleanEnvironment, package: str) -> bool:
    code = f"from importlib.util import find_spec; print(find_spec({package!r}) is not None)"
    return environment.run("python", "-c", code).strip() == "True"


def _readme_clients() -> Iterator[str]:
    """Yield the README examples that use the client."""
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    yield from (block for block in blocks if "CompanyOSEnv" in block)
