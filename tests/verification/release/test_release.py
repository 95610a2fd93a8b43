"""The files of a release and the check that uses them; the check itself is `make release-check`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from companyos_gateway.scenarios import catalogue
from companyos_gateway.tasks import TaskSet
from tests.architecture.sources import ROOT
from verification.release.__main__ import results_page
from verification.release.environments import CleanEnvironment, CommandError, find_pythons
from verification.release.gateway import fetch_page
from verification.release.trial import Size, Step, Trial
from verification.release.versions import check_versions
from verification.release.wheels import SERVER_ONLY, build_release

WHEEL = Path("companyos-0.1.0-py3-none-any.whl")
PAGE = '<title>CompanyOS</title><link rel="stylesheet" href="style.css"><img src="data:image/png;base64,AA">'


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The files of the repository that state its version."""
    for name in ("CHANGELOG.md", "openenv.yaml", "pyproject.toml", "client/src/companyos/openenv.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def replace_in(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))


def test_the_version_is_reported_with_its_task_set(clone: Path) -> None:
    assert check_versions(clone, [WHEEL]).startswith(f"version 0.1.0, task set {TaskSet(catalogue()).version}")


def test_unreleased_changes_are_reported(clone: Path) -> None:
    (clone / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n- A change.\n\n## 0.1.0, 1 May 2026\n")
    assert check_versions(clone, [WHEEL]).endswith("; the changelog has unreleased changes")
    (clone / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n## 0.1.0, 1 May 2026\n\n- A change.\n")
    assert not check_versions(clone, [WHEEL]).endswith("changes")


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("CHANGELOG.md", "## 0.1.0", "## 0.2.0"),
        ("openenv.yaml", "version: 0.1.0", "version: 0.2.0"),
        ("pyproject.toml", 'version = "0.1.0"', 'version = "0.2.0"'),
        ("client/src/companyos/openenv.yaml", "version: 0.1.0", "version: 0.2.0"),
    ],
)
def test_a_file_with_a_different_version_is_rejected(clone: Path, name: str, before: str, after: str) -> None:
    replace_in(clone / name, before, after)
    with pytest.raises(CommandError, match=rf"versions differ: .*{name} 0\.2\.0"):
        check_versions(clone, [WHEEL])


def test_a_wheel_of_another_version_is_rejected(clone: Path) -> None:
    with pytest.raises(CommandError, match=r"companyos_gateway 0\.2\.0"):
        check_versions(clone, [WHEEL, Path("companyos_gateway-0.2.0-py3-none-any.whl")])


def test_a_manifest_with_another_task_set_is_rejected(clone: Path) -> None:
    version = TaskSet(catalogue()).version
    replace_in(clone / "openenv.yaml", f'dataset_version: "{version}"', 'dataset_version: "1.2.3"')
    with pytest.raises(CommandError, match=rf"openenv.yaml has task set 1.2.3, the gateway {re.escape(version)}; run"):
        check_versions(clone, [WHEEL])


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """A server of the files in the folder of the test."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(tmp_path)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_a_page_is_fetched_with_its_files(site: str, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(PAGE)
    with pytest.raises(CommandError, match=r"style\.css: HTTP Error 404"):
        fetch_page(f"{site}/")
    (tmp_path / "style.css").touch()
    with pytest.raises(CommandError, match=r"style\.css is empty"):
        fetch_page(f"{site}/")
    (tmp_path / "style.css").write_text("body {}")
    assert fetch_page(f"{site}/") == 1


def test_a_different_page_is_rejected(site: str) -> None:
    with pytest.raises(CommandError, match="is not a page of CompanyOS"):
        fetch_page(f"{site}/")


def test_the_page_shows_failures_and_missing_python_versions() -> None:
    steps = [
        Step("3.11", "up", 1.25, "4 pages"),
        Step("3.12", "up", 2.0, problem="Traceback ...\nImportError: a | b"),
        Step("3.11", "demo", 3.0, "solved"),
    ]
    page = results_page("today", "version 0.1.0", steps, [Size("3.11", "client", 109, 296.6)], ["3.13"])
    assert "| up | FAILED on 3.12: ImportError: a \\| b | 1.2 | 2.0 |" in page
    assert "| demo | solved | 3.0 |  |" in page
    assert "| client | 3.11 | 109 | 297 |" in page
    assert "Not found on this machine: Python 3.13." in page


def test_a_missing_python_version_is_not_found() -> None:
    assert find_pythons(["9.99"]) == {"9.99": None}


@pytest.mark.integration
@pytest.mark.timeout(600)
def test_two_builds_are_equal_and_complete(tmp_path: Path) -> None:
    first, second = (build_release(tmp_path / name) for name in ("first", "second"))
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=tmp_path / "first", check=True)
    folders = ["shared", "gateway", "client", "players", "verification", "integrations/*", "services/*"]
    packages = [path for folder in folders for path in ROOT.glob(f"{folder}/pyproject.toml")]
    assert len(list((tmp_path / "first").glob("*.whl"))) == len(packages)
    components = json.loads((tmp_path / "first" / "sbom.cdx.json").read_text())["components"]
    assert {"companyos-gateway", "openenv", "gradio"} <= {component["name"] for component in components}
    required = {line.split("==")[0] for line in (tmp_path / "first" / "requirements-client.txt").read_text().split()}
    assert {"companyos", "companyos_shared", "openenv", "websockets"} <= required
    assert not required & {*SERVER_ONLY, "pandas", "starlette", "mcp"}


@pytest.mark.integration
@pytest.mark.timeout(600)
def test_a_release_without_wheels_fails_at_the_installation(tmp_path: Path) -> None:
    (tmp_path / "dist").mkdir()
    (tmp_path / "locked.txt").touch()
    taken: list[Step] = []
    python = Path(CleanEnvironment(tmp_path / "any").python)
    Trial("3.11", python, tmp_path, tmp_path / "dist", tmp_path / "locked.txt", taken.append).run()
    assert [step.name for step in taken] == ["install server"]
    assert "companyos" in taken[0].problem


@pytest.mark.integration
def test_a_failed_command_of_an_environment_reports_its_output(tmp_path: Path) -> None:
    environment = CleanEnvironment(tmp_path)
    with pytest.raises(CommandError, match="No module named 'companyos'"):
        environment.run("python", "-c", "import companyos")
