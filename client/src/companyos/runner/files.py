"""The folder of a run: `episodes.jsonl`, `trajectories/` and `evidence/`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from companyos.contract import EpisodeRecord
from companyos.runner.episode import EpisodePlan, PlayedEpisode

EPISODES = "episodes.jsonl"
TRAJECTORIES = "trajectories"
EVIDENCE = "evidence"


class RunFolder:
    """Writes a run. Lines of `episodes.jsonl` stand in the order of the plan, whatever finished first.

    The first episode replaces the run that the folder held. Raises FileExistsError for a folder with anything else, and
    OSError for one that cannot be made.
    """

    def __init__(self, folder: Path, plans: list[EpisodePlan]) -> None:
        self._folder = folder
        self._order = {plan: place for place, plan in enumerate(plans)}
        self._waiting: dict[int, PlayedEpisode] = {}
        self._written = 0
        self._is_begun = False
        folder.mkdir(parents=True, exist_ok=True)
        _check_is_run(folder)

    def add(self, played: PlayedEpisode, evidence: dict[str, Any] | None) -> None:
        """Write an episode: its trajectory and evidence at once, its line as soon as those before it are there."""
        self._begin()
        name = played.plan.name
        lines = "".join(_line(step.as_json()) for step in played.steps)
        (self._folder / TRAJECTORIES / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        if evidence is not None:
            (self._folder / EVIDENCE / f"{name}.json").write_text(_line(evidence), encoding="utf-8")
        self._waiting[self._order[played.plan]] = played
        with (self._folder / EPISODES).open("a", encoding="utf-8") as episodes:
            while (ready := self._waiting.pop(self._written, None)) is not None:
                episodes.write(_line(ready.record.model_dump(mode="json")))
                self._written += 1

    def close(self) -> None:
        """Write the lines of episodes that still wait for earlier ones, which a stopped run leaves out."""
        if not self._waiting:
            return
        with (self._folder / EPISODES).open("a", encoding="utf-8") as episodes:
            for place in sorted(self._waiting):
                episodes.write(_line(self._waiting.pop(place).record.model_dump(mode="json")))

    def _begin(self) -> None:
        if self._is_begun:
            return
        self._is_begun = True
        _clear(self._folder)
        (self._folder / TRAJECTORIES).mkdir()
        (self._folder / EVIDENCE).mkdir()


def read_records(folder: Path) -> list[EpisodeRecord]:
    """Return the lines of a run's `episodes.jsonl`."""
    lines = (folder / EPISODES).read_text(encoding="utf-8").splitlines()
    return [EpisodeRecord.model_validate_json(line) for line in lines]


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def _check_is_run(folder: Path) -> None:
    known = (EPISODES, TRAJECTORIES, EVIDENCE)
    foreign = sorted(entry.name for entry in folder.iterdir() if entry.name not in known)
    if foreign:
        raise FileExistsError(f"{folder} is no folder of a run: it holds {foreign[0]}")


def _clear(folder: Path) -> None:
    (folder / EPISODES).unlink(missing_ok=True)
    for part in (TRAJECTORIES, EVIDENCE):
        if (folder / part).is_dir():
            for file in (folder / part).iterdir():
                file.unlink()
            (folder / part).rmdir()
