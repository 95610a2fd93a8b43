"""The single image under OpenEnv's validator: no rights, no variables, and only /tmp and /dev/shm writable."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import httpx
import pytest
import yaml
from docker.models.containers import Container
from openenv import AutoEnv
from openenv.auto._discovery import reset_discovery
from openenv.core.generic_client import GenericEnvClient

from tests.e2e.conftest import ROOT
from verification.openenv.manifest import MANIFEST

IMAGE = "companyos-env"
"""The image that AutoEnv starts if it gets no address."""
SHM_BYTES = 64 * 1024 * 1024
DEADLINE_S = 120.0
READY_WITHIN_S = 15.0
"""Maximum processor time until the image is ready. Wall-clock time would depend on other load."""

HELD = {
    "user": "65532:65532",
    "read_only": True,
    "cap_drop": ["ALL"],
    "security_opt": ["no-new-privileges"],
    "pids_limit": 256,
    "init": True,
    "environment": {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"},
}
"""The flags of the validator's own provider, with the values that the manifest declares."""

MANIFEST_TEXT: dict[str, Any] = yaml.safe_load(MANIFEST.read_text())
BY_UVICORN = f"cd /app/env && exec python -m uvicorn {MANIFEST_TEXT['app']} --host 0.0.0.0 --port 8000"
"""The command of hosts that do not use the command of the image."""


class Space:
    """A ready container of the image, and the processor time that it took to start."""

    def __init__(self, container: Container, url: str) -> None:
        self.container = container
        self.url = url
        usage = container.stats(stream=False)["cpu_stats"]["cpu_usage"]
        self.processor_s = usage["total_usage"] / 1e9

    def run(self, *command: str) -> tuple[int, str]:
        """Run a command in the container and return its status and output."""
        status, output = self.container.exec_run(list(command))
        return status, output.decode()


@pytest.fixture(scope="module")
def image() -> str:
    """Build the image and give its name."""
    declared = MANIFEST_TEXT["validation"]["execution"]
    docker.from_env().images.build(path=str(ROOT), dockerfile=declared["dockerfile"], tag=IMAGE, rm=True)
    return IMAGE


@pytest.fixture(scope="module", params=[None, ["sh", "-c", BY_UVICORN]], ids=["as-it-is", "by-uvicorn"])
def space(image: str, request: pytest.FixtureRequest) -> Iterator[Space]:
    """Start the image in the sandbox, by its own command and as hosts do that know the manifest alone."""
    resources = MANIFEST_TEXT["validation"]["resources"]
    memory = f"{resources['memory_mb']}m"
    room = resources["disk_mb"] * 1024 * 1024 - SHM_BYTES
    container = docker.from_env().containers.run(
        image,
        request.param,
        detach=True,
        mem_limit=memory,
        memswap_limit=memory,
        nano_cpus=int(resources["cpu"] * 1e9),
        shm_size=SHM_BYTES,
        tmpfs={"/tmp": f"rw,nosuid,nodev,size={room},mode=1777"},
        ports={"8000/tcp": ("127.0.0.1", None)},
        **HELD,
    )
    try:
        container.reload()
        url = f"http://127.0.0.1:{container.ports['8000/tcp'][0]['HostPort']}"
        _wait_until_healthy(url, container)
        yield Space(container, url)
    finally:
        container.remove(force=True)


def test_the_space_is_ready_soon(space: Space) -> None:
    assert space.processor_s < READY_WITHIN_S


def test_the_oracle_reaches_the_maximum_reward_from_inside(space: Space) -> None:
    oracle = MANIFEST_TEXT["validation"]["capabilities"]["oracle"]["location"]
    assert space.run("python3", f"/app/env/{oracle}") == (0, "reward 1, done True\n")


async def test_an_episode_is_played_from_outside(space: Space) -> None:
    async with GenericEnvClient(base_url=space.url) as env:
        await env.reset(split="test", index=12)
        step = await env.step({"type": "call_tool", "tool_name": "ticketdesk_list_tickets", "arguments": {}})
        assert step.observation["result"]["items"]
        assert (await env.state())["step_count"] == 1


def test_its_processes_have_no_privileges_and_cannot_write(space: Space) -> None:
    held = "import os; print(os.getuid(), [line for line in open('/proc/self/status') if line.startswith('CapEff')])"
    _, message = space.run("python3", "-c", held)
    assert message.startswith("65532 ")
    assert "0000000000000000" in message
    for place in ("/app/planted", "/app/env/planted", "/planted"):
        status, _ = space.run("python3", "-c", f"open({place!r}, 'w')")
        assert status != 0, place


def test_its_episodes_are_stored_in_tmp(space: Space) -> None:
    _, message = space.run("python3", "-c", "import glob; print(glob.glob('/tmp/companyos-data-*'))")
    assert "companyos-data-" in message


def test_it_serves_the_playground(space: Space) -> None:
    assert httpx.get(f"{space.url}/web/", trust_env=False, timeout=30.0).status_code == 200


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_autoenv_starts_it_by_the_name_of_the_environment(
    image: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    reset_discovery()
    async with AutoEnv.from_env("companyos") as env:
        assert (await env.reset(seed=7)).observation.brief
    del env
    gc.collect()  # AutoEnv does not close the connection of its check, which uses a separate event loop


def _wait_until_healthy(url: str, container: Container) -> None:
    deadline = time.monotonic() + DEADLINE_S
    with httpx.Client(trust_env=False, timeout=5.0) as http:
        while time.monotonic() < deadline:
            try:
                if http.get(f"{url}/health").json()["status"] == "healthy":
                    return
            except (httpx.TransportError, ValueError):
                pass
            time.sleep(0.1)
    raise AssertionError(f"the image did not get ready:\n{container.logs(tail=40).decode()}")
