"""The folder of a run: `episodes.jsonl`, `trajectories/` and `evidence/`."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from companyos.contract import EpisodeRecord
from companyos.runner.episode import EpisodePlan, PlayedEpisode

EPISODES = "episodes.jsonl"
TRAJECTORIES = "trajectories"
EVIDENCE = "evidence"
PACKED = ".json.gz"


class RunUnreadable(ValueError):
    """Raised for a file of a run that is damaged, or is none; the text names the file and says why."""


@dataclass(frozen=True)
class RecordLine:
    """A line of `episodes.jsonl`: the record, or why it is none."""

    number: int
    record: EpisodeRecord | None
    fault: str | None = None


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
            packed = gzip.compress(_line(evidence).encode(), mtime=0)
            (self._folder / EVIDENCE / f"{name}{PACKED}").write_bytes(packed)
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


def read_lines(folder: Path) -> Iterator[RecordLine]:
    """Yield every line of a run's `episodes.jsonl`, those that are no record with the reason."""
    with (folder / EPISODES).open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield RecordLine(number, EpisodeRecord.model_validate_json(line))
            except ValidationError as misfit:
                first = misfit.errors(include_input=False, include_url=False)[0]
                place = ".".join(map(str, first["loc"]))
                yield RecordLine(number, None, f"{place}: {first['msg']}" if place else first["msg"])


def read_evidence(folder: Path, record: EpisodeRecord) -> dict[str, Any]:
    """Return the evidence of an episode of the run. Raises RunUnreadable."""
    named = record.model_dump(include={"scenario", "seed", "chaos", "policy", "task_id"})
    plan = EpisodePlan(**named)
    file = folder / EVIDENCE / f"{plan.name}{PACKED}"
    try:
        found = json.loads(gzip.decompress(file.read_bytes()))
    except FileNotFoundError:
        raise RunUnreadable(f"{EVIDENCE}/{file.name}: missing") from None
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise RunUnreadable(f"{EVIDENCE}/{file.name}: {error}") from error
    if not isinstance(found, dict):
        raise RunUnreadable(f"{EVIDENCE}/{file.name}: holds no object")
    return found


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
