"""A data folder of this version with one episode and one snapshot, packed for later versions.

`python -m tests.gateway.data_folder` writes `tests/fixtures/data-folder-format-<n>.tar.gz`. Run it once when the format
changes, and keep the files of earlier formats.
"""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import tarfile
import tempfile
from pathlib import Path

from companyos_gateway.engine.manifest import FORMAT
from tests.gateway.conftest import gateway_over
from tests.gateway.notes import SERVICE
from verification.in_process import service_app

FIXTURES = Path(__file__).parent.parent / "fixtures"
EXPECTED = "expected.json"
EPISODE = "kept-over-versions"


async def play(folder: Path) -> None:
    """Play an episode, take a snapshot in the middle, and write a file with the expectations for later versions."""
    service = service_app(SERVICE, folder)
    async with gateway_over({"notes": service}, data_dir=folder / "kept") as gateway:
        await gateway.reset(episode_id=EPISODE)
        await gateway.step(EPISODE, "notes_write_note", text="before the snapshot")
        taken = await gateway.snapshot(EPISODE)
        await gateway.step(EPISODE, "notes_write_note", text="after the snapshot")
        await gateway.step(EPISODE, "wait", minutes=600)
        state = await gateway.state(EPISODE)
    service.state.episodes.close()
    shutil.rmtree(folder / "notes" / "templates", ignore_errors=True)
    expected = {"snapshot": taken, "state": {name: state[name] for name in ("step_count", "now", "return", "seed")}}
    (folder / EXPECTED).write_text(json.dumps(expected))


def main() -> None:
    """Write the fixture file of this version."""
    FIXTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asyncio.run(play(folder))
        packed = FIXTURES / f"data-folder-format-{FORMAT}.tar.gz"
        with tarfile.open(packed, "w:gz") as archive:
            for path in sorted(folder.rglob("*")):
                info = archive.gettarinfo(path, str(path.relative_to(folder)))
                info.uid = info.gid = 0
                info.uname = info.gname = ""
                archive.addfile(info, io.BytesIO(path.read_bytes()) if path.is_file() else None)
    print(f"{packed}: {packed.stat().st_size} bytes")  # noqa: T201


if __name__ == "__main__":
    main()
